"""From the value of a field to its array: one function per field, made once, in the exact data type and rank of the schema."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from vertical_engines.sdk.dtypes import NUMPY_DTYPES, Array, value_range
from vertical_engines.sdk.errors import CodecError
from vertical_engines.sdk.plan import FieldPlan

Writer = Callable[[Any], Array]


def writer(field: FieldPlan) -> Writer:
    """The function that turns the value of one field into its array, in the exact data type and rank of the schema."""
    dtype = NUMPY_DTYPES[field.data_type]
    convert, check = element_writer(field), range_check(field)

    def scalar(value: Any) -> Array:
        array = np.empty(1, dtype)
        if check is not None:
            check((value,))
        array[0] = value if convert is None else convert(value)
        return array

    def vector(value: Any) -> Array:
        if check is not None:
            check(value)
        array = np.empty(len(value), dtype)
        array[:] = value if convert is None else [convert(element) for element in value]
        return array

    def matrix(value: Any) -> Array:
        widths = {len(row) for row in value}
        if len(widths) > 1:
            raise CodecError(field.tensor, f"rows of different lengths ({', '.join(map(str, sorted(widths)))}) make no tensor")
        array = np.empty((len(value), widths.pop() if widths else 0), dtype)
        for number, row in enumerate(value):
            array[number] = vector(row)
        return array

    def whole(value: Any) -> Array:
        if value.ndim != len(field.dims) or any(want not in (-1, got) for want, got in zip(field.dims, value.shape, strict=True)):
            raise CodecError(field.tensor, f"expected shape {list(field.dims)}, got {list(value.shape)}")
        return typed(field, value)

    return {"scalar": scalar, "vector": vector, "matrix": matrix, "array": whole}[field.kind]


def typed(field: FieldPlan, value: Array) -> Array:
    """A contiguous array of the field's data type. Raises CodecError where that would change its meaning."""
    dtype = NUMPY_DTYPES[field.data_type]
    if value.dtype != dtype:
        if not np.can_cast(value.dtype, dtype, casting="same_kind"):
            raise CodecError(field.tensor, f"{value.dtype} can't become {field.data_type}")
        value = value.astype(dtype)
    return np.ascontiguousarray(value)


def element_writer(field: FieldPlan) -> Callable[[Any], Any] | None:
    """The conversion of one element, or None where numpy takes it as it is."""
    if field.item == "json":
        adapter = field.adapter
        assert adapter is not None
        return lambda value: adapter.dump_json(value, by_alias=True)
    return field.to_text


def range_check(field: FieldPlan) -> Callable[[Sequence[Any]], None] | None:
    """Raises CodecError for numbers that the data type can't hold, where numpy would wrap or give infinity; None where it holds all."""
    limits = value_range(field.data_type)
    if limits is None or field.data_type == "TYPE_FP64":
        return None
    (low, high), infinite = limits, (float("inf"), float("-inf"))

    def check(values: Sequence[Any]) -> None:
        for value in values:
            # NaN and infinity get this far only where the schema allows them.
            if not low <= value <= high and value == value and value not in infinite:
                raise CodecError(field.tensor, f"{value} is out of the range of {field.data_type}")

    return check
