"""Failed calls as exceptions: the server's own message, its error code, and whether it was reached at all."""

import re
from typing import Any

from vertical_engines.sdk.errors import ErrorCode, from_message

_HTTP_CODES = {
    "400": ErrorCode.INVALID_ARG,
    "404": ErrorCode.NOT_FOUND,
    "413": ErrorCode.INVALID_ARG,
    "429": ErrorCode.UNAVAILABLE,
    "501": ErrorCode.UNSUPPORTED,
    "502": ErrorCode.UNAVAILABLE,
    "503": ErrorCode.UNAVAILABLE,
    "504": ErrorCode.UNAVAILABLE,
}

_GRPC_CODES = {
    "INVALID_ARGUMENT": ErrorCode.INVALID_ARG,
    "NOT_FOUND": ErrorCode.NOT_FOUND,
    "UNAVAILABLE": ErrorCode.UNAVAILABLE,
    "RESOURCE_EXHAUSTED": ErrorCode.UNAVAILABLE,
    "UNIMPLEMENTED": ErrorCode.UNSUPPORTED,
    "ALREADY_EXISTS": ErrorCode.ALREADY_EXISTS,
    "CANCELLED": ErrorCode.CANCELLED,
    "UNKNOWN": ErrorCode.UNKNOWN,
}

_REQUEST_ID = re.compile(r"^\[request id: [^\]]*\] ")


class VerticalError(Exception):
    """The server answered with an error."""

    def __init__(self, message: str, *, code: ErrorCode = ErrorCode.INTERNAL) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class RequestTimeout(VerticalError):
    """No answer in time. The server may have done the work all the same."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code=ErrorCode.UNAVAILABLE)


class ServerUnreachable(VerticalError):
    """There was no connection to a server, or it broke."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code=ErrorCode.UNAVAILABLE)


def from_server(error: Any) -> VerticalError:
    """The exception for tritonclient's InferenceServerException, whichever protocol it came from."""
    status = str(error.status() or "")
    text = _REQUEST_ID.sub("", error.message() or "the server gave no reason")
    if status == "StatusCode.DEADLINE_EXCEEDED":
        return RequestTimeout(text)
    if status == "StatusCode.UNAVAILABLE" and "connect" in text.lower():
        return ServerUnreachable(text)
    code = _HTTP_CODES.get(status) or _GRPC_CODES.get(status.removeprefix("StatusCode."), ErrorCode.INTERNAL)
    told, message = from_message(text)
    return VerticalError(message, code=told if message != text else code)
