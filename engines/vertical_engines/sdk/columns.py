"""A batch as one object of columns: validated at the cost of hand-written code, where objects for single rows would cost more."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from vertical_engines.sdk.codec import InvalidMessage
from vertical_engines.sdk.dtypes import Array
from vertical_engines.sdk.errors import CodecError, describe
from vertical_engines.sdk.fields import TritonFieldModel
from vertical_engines.sdk.plan import SchemaError
from vertical_engines.sdk.reading import reader
from vertical_engines.sdk.rows import column_reader, column_writer

_classes: dict[type[TritonFieldModel], type[BaseModel]] = {}
_CONFIG = ConfigDict(arbitrary_types_allowed=True, extra="forbid", allow_inf_nan=False, protected_namespaces=())


def columns_of(schema: type[TritonFieldModel]) -> type[BaseModel]:
    """A class with the fields of the schema, each a list with an entry a row; an NDArray is one array of [rows] + dims.

    Raises SchemaError for a schema with validators of its own: they look at one row.
    """
    if schema not in _classes:
        decorators = schema.__pydantic_decorators__
        if decorators.field_validators or decorators.model_validators or decorators.validators or decorators.root_validators:
            raise SchemaError(f"{schema.__name__} has validators that look at one row: use handle_batch, not handle_columns")
        fields: dict[str, Any] = {}
        for field, (name, info) in zip(schema.plan().fields, schema.model_fields.items(), strict=True):
            annotation: Any = info.annotation
            for mark in info.metadata:
                annotation = Annotated[annotation, mark]
            column: Any = info.annotation if field.kind == "array" else list[annotation]
            fields[name] = (column | None, None) if field.optional else (column, ...)
        _classes[schema] = create_model(f"{schema.__name__}Columns", __config__=_CONFIG, **fields)
    return _classes[schema]


class ColumnCodec:
    """Reads and writes the columns of one schema. Thread safe."""

    def __init__(self, schema: type[TritonFieldModel]) -> None:
        self.columns = columns_of(schema)
        plan = schema.plan().fields
        self._readers = {}
        for field in plan:
            read = reader(replace(field, dims=(-1, *field.dims))) if field.kind == "array" else column_reader(field)
            self._readers[field.tensor] = (field.name, read)
        self._writers = [(field.name, field.tensor, column_writer(field)) for field in plan]

    def decode(self, tensors: Iterable[tuple[str, Array]]) -> Any:
        """One object of columns. Raises InvalidMessage with `field.row number: message`."""
        raw: dict[str, Any] = {}
        try:
            for tensor, array in tensors:
                if tensor in self._readers:
                    name, read = self._readers[tensor]
                    raw[name] = read(array)
            return self.columns.model_validate(raw)
        except CodecError as error:
            raise InvalidMessage(str(error)) from error
        except ValidationError as error:
            raise InvalidMessage(describe(error)) from error

    def encode(self, columns: BaseModel) -> list[tuple[str, Array]]:
        """Named arrays of [rows] + dims; a column that is None is left out. Raises CodecError."""
        named = [(tensor, getattr(columns, name), write) for name, tensor, write in self._writers]
        return [(tensor, write(column)) for tensor, column, write in named if column is not None]
