"""Conversion between tensors and schema objects: built once per schema, one validation per decoded message."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from vertical_engines.sdk.dtypes import Array
from vertical_engines.sdk.errors import CodecError, describe
from vertical_engines.sdk.fields import TritonFieldModel
from vertical_engines.sdk.generation import GIVES_UP, fast_decoder, fast_encoder
from vertical_engines.sdk.reading import Reader, reader
from vertical_engines.sdk.writing import Writer, writer

ModelT = TypeVar("ModelT", bound=TritonFieldModel)


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
        self._fast_decode = fast_decoder(schema.plan(), self._validate)
        self._fast_encode = fast_encoder(schema.plan())

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

    def decode_tensors(self, tensors: Sequence[Any]) -> ModelT:
        """`decode` for objects with name() and as_numpy(), on a fast path made for this schema."""
        try:
            return self._fast_decode(tensors)  # type: ignore[no-any-return]
        except GIVES_UP:
            return self.decode((tensor.name(), tensor.as_numpy()) for tensor in tensors)

    def encode_tensors(self, model: ModelT, tensor: Callable[[str, Array], Any]) -> list[Any]:
        """`encode` into objects of the given class, on a fast path made for this schema."""
        try:
            return self._fast_encode(model.__dict__, tensor)
        except GIVES_UP:
            return [tensor(name, array) for name, array in self.encode(model)]

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


def only_row(name: str, array: Any) -> Any:
    """The one row of a batch of one. Raises CodecError for another number of rows."""
    if array is not None and (not array.ndim or array.shape[0] != 1):
        raise CodecError(name, f"expected one row, got shape {list(array.shape)}")
    return array if array is None else array[0]
