"""From the value of a field to its array: one function per field, made once, in the exact data type and rank of the schema."""

from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from vertical_engines.sdk.dtypes import NUMPY_DTYPES, Array, value_range
from vertical_engines.sdk.errors import CodecError
from vertical_engines.sdk.plan import FieldPlan

Writer = Callable[[Any], Array]


def writer(field: FieldPlan) -> Writer:
    """The function that turns the value of one field into its array, in the exact data type and rank of the schema."""
    dtype = NUMPY_DTYPES[field.data_type]
    convert = _element_writer(field)

    def scalar(value: Any) -> Array:
        array = np.empty(1, dtype)
        array[0] = value if convert is None else convert(value)
        return array

    def vector(value: Any) -> Array:
        array = np.empty(len(value), dtype)
        array[:] = value if convert is None else [convert(element) for element in value]
        return array

    def whole(value: Any) -> Array:
        if value.ndim != len(field.dims) or any(want not in (-1, got) for want, got in zip(field.dims, value.shape, strict=True)):
            raise CodecError(field.tensor, f"expected shape {list(field.dims)}, got {list(value.shape)}")
        if value.dtype != dtype:
            if not np.can_cast(value.dtype, dtype, casting="same_kind"):
                raise CodecError(field.tensor, f"{value.dtype} can't become {field.data_type}")
            value = value.astype(dtype)
        return np.ascontiguousarray(value)

    return {"scalar": scalar, "vector": vector, "array": whole}[field.kind]


def _element_writer(field: FieldPlan) -> Callable[[Any], Any] | None:
    """The conversion of one element, or None where numpy takes it as it is."""
    if field.item == "json":
        adapter = field.adapter
        assert adapter is not None
        return lambda value: adapter.dump_json(value, by_alias=True)
    if field.item == "text":
        return lambda value: value.value if isinstance(value, Enum) else value
    limits = value_range(field.data_type)
    if field.item == "bytes" or limits is None:
        return None
    low, high = limits

    def bounded(value: Any) -> Any:
        if not low <= value <= high:
            raise CodecError(field.tensor, f"{value} is out of the range of {field.data_type}")
        return value

    return bounded
