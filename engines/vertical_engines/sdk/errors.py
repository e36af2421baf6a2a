"""Failures of one request: their Triton error code, and how a code travels through BLS inside the message."""

import re
from enum import Enum

from pydantic import ValidationError

MESSAGE_LIMIT = 1000
"""Characters of a message that reach a client."""

SHOWN_PROBLEMS = 5
"""Validation problems that one message names."""


FAILURE_NAME = "stream_failure"
"""Output (TYPE_STRING, dims [1]) of a decoupled model: a failure after its first answer, as `[CODE] message`."""


class ErrorCode(str, Enum):
    """Names of `pb_utils.TritonError` codes."""

    UNKNOWN = "UNKNOWN"
    INTERNAL = "INTERNAL"
    NOT_FOUND = "NOT_FOUND"
    INVALID_ARG = "INVALID_ARG"
    UNAVAILABLE = "UNAVAILABLE"
    UNSUPPORTED = "UNSUPPORTED"
    ALREADY_EXISTS = "ALREADY_EXISTS"
    CANCELLED = "CANCELLED"


class RequestFailure(Exception):
    """One request fails with a code and a message that may be shown to the client; the others of its batch go on."""

    def __init__(self, message: str, *, code: ErrorCode = ErrorCode.INTERNAL) -> None:
        super().__init__(message)
        self.message = message[:MESSAGE_LIMIT]
        self.code = code


class BadRequest(RequestFailure):
    """The caller's input is wrong: `field: what is wrong with it`."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code=ErrorCode.INVALID_ARG)


class ChildError(RequestFailure):
    """A model called through BLS failed; `code` is the one that the child gave, where it could be restored."""

    def __init__(self, message: str, *, model: str, code: ErrorCode = ErrorCode.INTERNAL) -> None:
        super().__init__(f"{model}: {message}", code=code)
        self.model = model


class ChildUnavailable(ChildError):
    """A model called through BLS gave no usable answer, so the caller may try again."""

    def __init__(self, message: str, *, model: str) -> None:
        super().__init__(message, model=model, code=ErrorCode.UNAVAILABLE)


class CodecError(Exception):
    """A tensor and its field do not fit together. Whose fault that is, only the caller of the codec knows."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")


_PREFIX = re.compile(r"^\[(" + "|".join(code.value for code in ErrorCode) + r")\] ", re.ASCII)
_CORE_PREFIX = re.compile(r"^Model \S+ - Error when running inference: ")
"""What Triton's core puts before its own words when a child fails before it runs."""


def to_message(failure: RequestFailure) -> str:
    """The message with its code in front, since Triton reports every failed child as INTERNAL."""
    return f"[{failure.code.value}] {failure.message}"


def from_message(text: str) -> tuple[ErrorCode, str]:
    """Code and message of a failed call: the inverse of `to_message`; INTERNAL where no code is in front."""
    text = _CORE_PREFIX.sub("", text, count=1)
    match = _PREFIX.match(text)
    return (ErrorCode(match[1]), text[match.end() :]) if match else (ErrorCode.INTERNAL, text)


def describe(error: ValidationError) -> str:
    """`field: message; ...` of a validation error, without input values or links, since clients see it."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    parts = []
    for problem in problems[:SHOWN_PROBLEMS]:
        where = ".".join(str(step) for step in problem["loc"])
        what = problem["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
        parts.append(f"{where}: {what}" if where else what)
    if len(problems) > SHOWN_PROBLEMS:
        parts.append(f"and {len(problems) - SHOWN_PROBLEMS} more")
    return "; ".join(parts)
