"""A `triton_python_backend_utils` for tests that runs whole BLS graphs in one process, as strict as the server."""

from vertical_engines.sdk.testing.server import FakePbUtils
from vertical_engines.sdk.testing.values import FakeInferenceError, FakeRequest, FakeResponse, FakeTensor, FakeTritonError

__all__ = ["FakeInferenceError", "FakePbUtils", "FakeRequest", "FakeResponse", "FakeTensor", "FakeTritonError"]
