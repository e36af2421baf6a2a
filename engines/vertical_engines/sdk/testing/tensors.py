"""Tensors and errors of the fake server, with the behaviour that was seen in the real stub."""

import numpy as np

from vertical_engines.sdk.dtypes import Array
from vertical_engines.sdk.errors import ErrorCode

CODES = [code.value for code in ErrorCode]


class FakeInferenceError(Exception):
    """What a client sees of a failed request."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = ErrorCode(CODES[code])
        self.message = message


class FakeTritonModelException(Exception):
    """`pb_utils.TritonModelException`: raised by models, an exception like any other."""


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

    def is_cpu(self) -> bool:
        return True
