"""A `triton_python_backend_utils` for tests that runs whole BLS graphs in one process, as strict as the server."""

from vertical_engines.sdk.testing.requests import FakeRequest
from vertical_engines.sdk.testing.responding import FakeResponse
from vertical_engines.sdk.testing.server import FakePbUtils
from vertical_engines.sdk.testing.tensors import FakeInferenceError, FakeTensor, FakeTritonError

__all__ = ["FakeInferenceError", "FakePbUtils", "FakeRequest", "FakeResponse", "FakeTensor", "FakeTritonError"]
