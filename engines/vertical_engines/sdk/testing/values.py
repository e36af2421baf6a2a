"""Tensors, requests, responses and errors of the fake server, with the behaviour that was seen in the real stub."""

import threading
from typing import Any, Protocol

import numpy as np

from vertical_engines.sdk.dtypes import Array
from vertical_engines.sdk.errors import ErrorCode

HANGS_AFTER = 60.0
"""Seconds without a final response that count as never."""


class FakeInferenceError(Exception):
    """What a client sees of a failed request."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = ErrorCode(CODES[code])
        self.message = message


CODES = [code.value for code in ErrorCode]


class FakeTritonError:
    """Error of one response. Codes are class attributes, as in the stub."""

    UNKNOWN, INTERNAL, NOT_FOUND, INVALID_ARG, UNAVAILABLE, UNSUPPORTED, ALREADY_EXISTS, CANCELLED = range(8)

    def __init__(self, message: str, code: int = INTERNAL) -> None:
        self._message, self._code = message, code

    def message(self) -> str:
        return self._message

    def code(self) -> int:
        return self._code


class FakeTensor:
    """A named tensor. Strings become bytes on the way, as they do in shared memory."""

    def __init__(self, name: str, array: Array) -> None:
        if not isinstance(array, np.ndarray):
            raise TypeError(f"Tensor {name}: incompatible constructor arguments, a numpy array is needed")
        if array.dtype == object or array.dtype.kind in "SU":
            flat = [element if isinstance(element, bytes) else str(element).encode() for element in array.ravel().tolist()]
            wire = np.empty(len(flat), object)
            wire[:] = flat
            array = wire.reshape(array.shape)
        self._name, self._array = name, array

    def name(self) -> str:
        return self._name

    def as_numpy(self) -> Array:
        return self._array

    def shape(self) -> list[int]:
        return list(self._array.shape)


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


class FakeSender:
    """Takes the final response of one request, from any thread."""

    def __init__(self) -> None:
        self._final = threading.Event()
        self._response: FakeResponse | None = None

    def send(self, response: FakeResponse | None = None, flags: int = 0) -> None:
        assert not self._final.is_set(), "a response was sent after the final one"
        self._response = response or self._response
        if flags:
            self._final.set()

    def wait(self) -> FakeResponse:
        assert self._final.wait(HANGS_AFTER), "no final response was sent: the server hangs"
        assert self._response is not None
        return self._response


class Server(Protocol):
    """Where a request runs."""

    def run(self, name: str, requests: list[Any]) -> list[FakeResponse]: ...


class FakeRequest:
    """A request, from a client or from a BLS model."""

    server: Server

    def __init__(
        self,
        *,
        model_name: str,
        inputs: list[FakeTensor],
        requested_output_names: list[str] | None = None,
        request_id: str = "",
        **options: Any,
    ) -> None:
        self.model, self._inputs, self._wanted, self._id, self.options = model_name, inputs, requested_output_names, request_id, options
        self.cancelled = False
        self._sender: FakeSender | None = None

    def inputs(self) -> list[FakeTensor]:
        return list(self._inputs)

    def request_id(self) -> str:
        return self._id

    def is_cancelled(self) -> bool:
        return self.cancelled

    def get_response_sender(self) -> "FakeSender":
        """For models that answer later and return None from execute()."""
        self._sender = FakeSender()
        return self._sender

    def sent(self) -> FakeResponse:
        """The answer that came through the sender; fails where the server would hang."""
        assert self._sender is not None, "execute() returned None for a request without a response sender: the server hangs"
        return self._sender.wait()

    def wanted(self, declared: set[str]) -> set[str]:
        return set(self._wanted) if self._wanted else declared

    def exec(self) -> FakeResponse:
        """A child call: never raises, and every error arrives as INTERNAL, as it does through the real BLS."""
        response = self.server.run(self.model, [self])[0]
        if response.has_error() and response.error().code() != FakeTritonError.INTERNAL:
            return FakeResponse(error=FakeTritonError(response.error().message(), FakeTritonError.INTERNAL))
        return response


def refused(code: ErrorCode, message: str) -> FakeResponse:
    return FakeResponse(error=FakeTritonError(message, CODES.index(code.value)))
