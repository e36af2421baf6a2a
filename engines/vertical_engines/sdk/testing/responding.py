"""Responses of the fake server and the sender that a model sends them through."""

import threading

from vertical_engines.sdk.errors import ErrorCode
from vertical_engines.sdk.testing.tensors import CODES, FakeTensor, FakeTritonError

HANGS_AFTER = 60.0
"""Seconds without a final response that count as never."""


class FakeResponse:
    """One answer: tensors, or an error."""

    def __init__(self, output_tensors: list[FakeTensor] | None = None, error: FakeTritonError | None = None) -> None:
        self._tensors, self._error = list(output_tensors or []), error

    def output_tensors(self) -> list[FakeTensor]:
        return self._tensors

    def has_error(self) -> bool:
        return self._error is not None

    def error(self) -> FakeTritonError:
        assert self._error is not None
        return self._error

    def kept(self, names: set[str]) -> "FakeResponse":
        return FakeResponse([tensor for tensor in self._tensors if tensor.name() in names], self._error)


def refused(code: ErrorCode, message: str) -> FakeResponse:
    return FakeResponse(error=FakeTritonError(message, CODES.index(code.value)))


class FakeSender:
    """Takes the responses of one request, from any thread."""

    def __init__(self) -> None:
        self._final = threading.Event()
        self._responses: list[FakeResponse] = []

    def send(self, response: FakeResponse | None = None, flags: int = 0) -> None:
        assert not self._final.is_set(), "a response was sent after the final one"
        assert response is not None or flags, "neither a response nor the final flag was sent"
        if response is not None and response.has_error():
            # Seen in the real server: the caller of such a stream misses the error or waits for ever.
            assert flags, "an error must carry the final flag"
            assert not self._responses, "an error after an answer does not reach a BLS caller"
        if response is not None:
            self._responses.append(response)
        if flags:
            self._final.set()

    def wait(self) -> list[FakeResponse]:
        """All responses, once the final flag is set; fails where the server would hang."""
        assert self._final.wait(HANGS_AFTER), "no final response was sent: the server hangs"
        return self._responses
