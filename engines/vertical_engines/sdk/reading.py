"""From the array of a field to what pydantic validates: one function per field, made once, with no decision left for a request."""

from collections.abc import Callable
from typing import Any

from pydantic_core import from_json

from vertical_engines.sdk.dtypes import NUMPY_DTYPES, STRING, Array
from vertical_engines.sdk.errors import CodecError
from vertical_engines.sdk.plan import FieldPlan

Reader = Callable[[Array], Any]
Elements = Callable[[list[Any]], list[Any]]


def reader(field: FieldPlan) -> Reader:
    """The function for one field. It raises CodecError for an array of another data type, shape or encoding."""
    check, convert = _type_check(field), _elements(field)
    name, dtype, rank = field.tensor, NUMPY_DTYPES[field.data_type], len(field.dims)
    fixed = [(axis, size) for axis, size in enumerate(field.dims) if size != -1]

    def scalar(array: Array) -> Any:
        if array is None or array.dtype is not dtype:
            check(array)
        if array.size != 1:
            raise CodecError(name, f"expected one element, got {array.size}")
        return array.item() if convert is None else convert([array.item()])[0]

    def vector(array: Array) -> Any:
        if array is None or array.dtype is not dtype:
            check(array)
        if array.ndim != 1:
            raise CodecError(name, f"expected shape [-1], got {list(array.shape)}")
        return array.tolist() if convert is None else convert(array.tolist())

    def whole(array: Array) -> Any:
        if array is None or array.dtype is not dtype:
            check(array)
        if array.ndim != rank or any(array.shape[axis] != size for axis, size in fixed):
            raise CodecError(name, f"expected shape {list(field.dims)}, got {list(array.shape)}")
        return array

    def matrix(array: Array) -> Any:
        if array is None or array.dtype is not dtype:
            check(array)
        if array.ndim != 2:
            raise CodecError(name, f"expected shape [-1, -1], got {list(array.shape)}")
        rows = array.tolist()
        return rows if convert is None else [convert(row) for row in rows]

    return {"scalar": scalar, "vector": vector, "matrix": matrix, "array": whole}[field.kind]


def _type_check(field: FieldPlan) -> Callable[[Array], None]:
    """Raises for another data type; only asked when the dtype is not the very object that Triton uses."""
    name, dtype = field.tensor, NUMPY_DTYPES[field.data_type]

    def check(array: Array) -> None:
        if array is None:
            raise CodecError(name, "has a data type that numpy does not know")
        # Strings of numpy's own fixed-width kinds come from callers that are not Triton.
        if array.dtype != dtype and not (field.data_type == STRING and array.dtype.kind in "SU"):
            raise CodecError(name, f"expected {field.data_type}, got {array.dtype}")

    return check


def _elements(field: FieldPlan) -> Elements | None:
    """The conversion of elements, or None where pydantic takes them as they are."""
    name = field.tensor

    def text(elements: list[Any]) -> list[Any]:
        # pydantic would accept bytes for str, but a `before` validator of the schema would then see bytes.
        try:
            return [element.decode() if isinstance(element, bytes) else element for element in elements]
        except UnicodeDecodeError as error:
            raise CodecError(name, "not valid UTF-8") from error

    def documents(elements: list[Any]) -> list[Any]:
        try:
            return [from_json(element, allow_inf_nan=False) for element in elements]
        except ValueError as error:
            raise CodecError(name, f"invalid JSON: {error}") from error

    def binary(elements: list[Any]) -> list[Any]:
        return [element.encode() if isinstance(element, str) else element for element in elements]

    conversions: dict[str, Elements] = {"text": text, "json": documents, "bytes": binary}
    return conversions.get(field.item)
