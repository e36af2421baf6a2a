"""Typed SDK for Triton python models and BLS pipelines: schemas in, schemas out, tensors nowhere in business code."""

from vertical_engines.sdk.async_model import AsyncTritonPythonModel
from vertical_engines.sdk.child_cache import ChildCache
from vertical_engines.sdk.columns import columns_of
from vertical_engines.sdk.compat import convert_pb_tensors_to_pydantic, convert_pydantic_to_pb_tensors, get_field_names
from vertical_engines.sdk.dtypes import Json, TritonType
from vertical_engines.sdk.errors import BadRequest, ChildError, ChildUnavailable, ErrorCode, RequestFailure
from vertical_engines.sdk.fields import NDArray, TritonFieldModel
from vertical_engines.sdk.model import TritonPythonModel
from vertical_engines.sdk.plan import SchemaError

__all__ = [
    "AsyncTritonPythonModel",
    "BadRequest",
    "ChildCache",
    "ChildError",
    "ChildUnavailable",
    "ErrorCode",
    "Json",
    "NDArray",
    "RequestFailure",
    "SchemaError",
    "TritonFieldModel",
    "TritonPythonModel",
    "TritonType",
    "columns_of",
    "convert_pb_tensors_to_pydantic",
    "convert_pydantic_to_pb_tensors",
    "get_field_names",
]
