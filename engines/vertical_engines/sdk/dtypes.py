"""Triton's tensor data types: their numpy form, their value ranges, and the markers that choose them in a schema."""

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

STRING = "TYPE_STRING"

NUMPY_DTYPES: dict[str, np.dtype[Any]] = {
    STRING: np.dtype(object),
    "TYPE_BOOL": np.dtype(np.bool_),
    "TYPE_INT8": np.dtype(np.int8),
    "TYPE_INT16": np.dtype(np.int16),
    "TYPE_INT32": np.dtype(np.int32),
    "TYPE_INT64": np.dtype(np.int64),
    "TYPE_UINT8": np.dtype(np.uint8),
    "TYPE_UINT16": np.dtype(np.uint16),
    "TYPE_UINT32": np.dtype(np.uint32),
    "TYPE_UINT64": np.dtype(np.uint64),
    "TYPE_FP16": np.dtype(np.float16),
    "TYPE_FP32": np.dtype(np.float32),
    "TYPE_FP64": np.dtype(np.float64),
}
"""Every data type that a schema may use. TYPE_BF16 is missing on purpose: numpy has no such type."""

INTEGER_TYPES = frozenset(name for name, dtype in NUMPY_DTYPES.items() if dtype.kind in "iu")
FLOAT_TYPES = frozenset(name for name, dtype in NUMPY_DTYPES.items() if dtype.kind == "f")

DEFAULT_TYPES: dict[type, str] = {str: STRING, bytes: STRING, bool: "TYPE_BOOL", int: "TYPE_INT64", float: "TYPE_FP64"}
"""Data type of a Python type where the schema names none."""

ALLOWED_TYPES: dict[type, frozenset[str]] = {
    str: frozenset({STRING}),
    bytes: frozenset({STRING}),
    bool: frozenset({"TYPE_BOOL"}),
    int: INTEGER_TYPES,
    float: FLOAT_TYPES,
}
"""Data types that can hold a Python type without loss of meaning."""


@dataclass(frozen=True)
class TritonType:
    """Chooses the tensor of a field: `Annotated[int, TritonType("TYPE_INT32")]`. `dims` is for arrays; -1 is any size."""

    data_type: str
    dims: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Json:
    """Sends a whole field as one TYPE_STRING element of JSON: `Annotated[list[Candidate], Json()]`."""


def value_range(data_type: str) -> tuple[float, float] | None:
    """Smallest and largest finite value of a numeric data type, or None. numpy 1.26 wraps silently outside of it."""
    dtype = NUMPY_DTYPES[data_type]
    if data_type in INTEGER_TYPES:
        limits = np.iinfo(dtype)
        return int(limits.min), int(limits.max)
    if data_type in FLOAT_TYPES:
        return float(np.finfo(dtype).min), float(np.finfo(dtype).max)
    return None
