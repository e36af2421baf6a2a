"""Conversion between tensors and schema objects: built once per schema, one validation per decoded message."""

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import numpy as np
from pydantic import ValidationError
from pydantic_core import from_json

from vertical_engines.sdk.dtypes import NUMPY_DTYPES, STRING, Array, value_range
from vertical_engines.sdk.errors import CodecError, describe
from vertical_engines.sdk.fields import TritonFieldModel
from vertical_engines.sdk.plan import FieldPlan

ModelT = TypeVar("ModelT", bound=TritonFieldModel)

Reader = Callable[[Array], Any]
Writer = Callable[[Any], Array]


class InvalidMessage(ValueError):
    """A message that does not fit its schema: `field: what is wrong`. `missing` holds required tensors that were absent."""

    def __init__(self, message: str, *, missing: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.missing = missing


class Codec(Generic[ModelT]):
    """Reads and writes the tensors of one schema. Thread safe: it holds no state between calls."""

    def __init__(self, schema: type[ModelT]) -> None:
        self.schema = schema
        fields = schema.plan().fields
        self.fields = fields
        self.names = [field.tensor for field in fields]
        self._readers: dict[str, Reader] = {field.tensor: reader(field) for field in fields}
        self._writers: list[tuple[str, str, Writer]] = [(field.name, field.tensor, writer(field)) for field in fields]
        self._empty = {field.tensor: None for field in fields if field.nullable_required}
        self._required = frozenset(field.tensor for field in fields if not field.optional)
        self._validate = schema.__pydantic_validator__.validate_python

    def decode(self, tensors: Iterable[tuple[str, Array]]) -> ModelT:
        """An object from named arrays (strings as objects holding bytes); names without a field are left alone.

        Raises InvalidMessage with `field: message`.
        """
        raw: dict[str, Any] = dict(self._empty)
        readers = self._readers
        try:
            for name, array in tensors:
                read = readers.get(name)
                if read is not None:
                    raw[name] = read(array)
            return self._validate(raw)  # type: ignore[no-any-return]
        except CodecError as error:
            raise InvalidMessage(str(error)) from error
        except ValidationError as error:
            missing = tuple(sorted(self._required - raw.keys()))
            raise InvalidMessage(describe(error), missing=missing) from error

    def encode(self, model: ModelT) -> list[tuple[str, Array]]:
        """Named arrays of an object; None is left out. Raises CodecError for a value that its data type can't hold."""
        values = model.__dict__
        return [(tensor, write(values[name])) for name, tensor, write in self._writers if values[name] is not None]


_codecs: dict[type[TritonFieldModel], Codec[Any]] = {}


def codec_of(schema: type[ModelT]) -> Codec[ModelT]:
    """The codec of a schema, made once per process."""
    codec = _codecs.get(schema)
    if codec is None:
        codec = _codecs[schema] = Codec(schema)
    return codec


def reader(field: FieldPlan) -> Reader:
    """The function that turns the array of one field into what pydantic validates."""
    name, dtype, rank, dims = field.tensor, NUMPY_DTYPES[field.data_type], len(field.dims), field.dims
    convert = _element_reader(field)

    def read(array: Array) -> Any:
        if array is None:
            raise CodecError(name, "has a data type that numpy does not know")
        # Strings of numpy's own fixed-width kinds come from callers that are not Triton.
        if array.dtype != dtype and not (field.data_type == STRING and array.dtype.kind in "SU"):
            raise CodecError(name, f"expected {field.data_type}, got {array.dtype}")
        if field.kind == "scalar":
            if array.size != 1:
                raise CodecError(name, f"expected one element, got {array.size}")
            return convert(array.item())
        if array.ndim != rank or any(want not in (-1, got) for want, got in zip(dims, array.shape, strict=True)):
            raise CodecError(name, f"expected shape {list(dims)}, got {list(array.shape)}")
        if field.kind == "array":
            return array
        return array.tolist() if field.item == "number" else [convert(element) for element in array.tolist()]

    return read


def _element_reader(field: FieldPlan) -> Callable[[Any], Any]:
    name = field.tensor

    def text(element: Any) -> Any:
        # pydantic would accept bytes for str, but a `before` validator of the schema would then see bytes.
        try:
            return element.decode() if isinstance(element, bytes) else element
        except UnicodeDecodeError as error:
            raise CodecError(name, "not valid UTF-8") from error

    def document(element: Any) -> Any:
        try:
            return from_json(element, allow_inf_nan=False)
        except ValueError as error:
            raise CodecError(name, f"invalid JSON: {error}") from error

    def binary(element: Any) -> Any:
        return element.encode() if isinstance(element, str) else element

    readers: dict[str, Callable[[Any], Any]] = {"text": text, "json": document, "bytes": binary}
    return readers.get(field.item, lambda element: element)


def writer(field: FieldPlan) -> Writer:
    """The function that turns the value of one field into its array, in the exact data type and rank of the schema."""
    dtype = NUMPY_DTYPES[field.data_type]
    convert = _element_writer(field)

    def scalar(value: Any) -> Array:
        array = np.empty(1, dtype)
        array[0] = convert(value)
        return array

    def vector(value: Any) -> Array:
        array = np.empty(len(value), dtype)
        array[:] = [convert(element) for element in value]
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


def _element_writer(field: FieldPlan) -> Callable[[Any], Any]:
    if field.item == "json":
        adapter = field.adapter
        assert adapter is not None
        return lambda value: adapter.dump_json(value, by_alias=True)
    if field.item == "text":
        return lambda value: value.value if hasattr(value, "value") else value
    limits = value_range(field.data_type)
    if field.item == "bytes" or limits is None:
        return lambda value: value
    low, high = limits

    def bounded(value: Any) -> Any:
        if not low <= value <= high:
            raise CodecError(field.tensor, f"{value} is out of the range of {field.data_type}")
        return value

    return bounded
