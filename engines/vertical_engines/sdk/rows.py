"""Conversion of whole batches: tensors with a leading axis of rows, where the schema describes one row."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Generic

import numpy as np
from pydantic import TypeAdapter, ValidationError

from vertical_engines.sdk.codec import InvalidMessage, ModelT
from vertical_engines.sdk.dtypes import Array
from vertical_engines.sdk.errors import CodecError, describe
from vertical_engines.sdk.plan import FieldPlan
from vertical_engines.sdk.reading import reader
from vertical_engines.sdk.writing import writer

Rows = list[Any]


class RowCodec(Generic[ModelT]):
    """Reads and writes batches of one schema, a column at a time. Thread safe."""

    def __init__(self, schema: type[ModelT]) -> None:
        fields = schema.plan().fields
        self._readers = {field.tensor: column_reader(field) for field in fields}
        self._writers = [(field.name, field.tensor, column_writer(field)) for field in fields]
        self._empty = {field.tensor: None for field in fields if field.nullable_required}
        self._adapter = TypeAdapter(list[schema])  # type: ignore[valid-type]

    def decode(self, tensors: Iterable[tuple[str, Array]]) -> list[ModelT]:
        """An object a row, validated in one pass. Raises InvalidMessage with `row number.field: message`."""
        columns: dict[str, Rows] = {}
        try:
            for name, array in tensors:
                if name in self._readers:
                    columns[name] = self._readers[name](array)
            # The optional tensors may all be absent, and then nothing says how many rows there are: Triton sends at least one input.
            names, count = list(columns), max(map(len, columns.values()), default=1)
            absent = {name: None for name in self._empty if name not in columns}
            if any(len(column) != count for column in columns.values()):
                raise CodecError(", ".join(names), "have different numbers of rows")
            rows = [dict(zip(names, row, strict=True)) | absent for row in zip(*columns.values(), strict=True)] or [dict(absent)] * count
            return self._adapter.validate_python(rows)
        except CodecError as error:
            raise InvalidMessage(str(error)) from error
        except ValidationError as error:
            raise InvalidMessage("row " + describe(error) if len(rows) > 1 else describe(error).removeprefix("0.")) from error

    def encode(self, models: Sequence[ModelT]) -> list[tuple[str, Array]]:
        """Named arrays of [rows] + dims; a field that is None in every row is left out.

        Raises CodecError for a value that its data type can't hold, and for rows that do not form one tensor.
        """
        values = [model.__dict__ for model in models]
        named = []
        for name, tensor, write in self._writers:
            column = [one[name] for one in values]
            absent = sum(value is None for value in column)
            if absent and absent < len(column):
                raise CodecError(tensor, f"is None in {absent} of {len(column)} rows: a tensor has no place for that")
            if not absent:
                named.append((tensor, write(column)))
        return named


def column_reader(field: FieldPlan) -> Callable[[Array], Rows]:
    """From an array of [rows] + dims to a list with an entry a row."""
    if field.kind == "scalar":
        flat = reader(replace(field, kind="vector", dims=(-1,)))

        def scalars(array: Array) -> Rows:
            if array is not None and array.shape[1:] not in ((1,), ()):
                raise CodecError(field.tensor, f"expected one element a row, got shape {list(array.shape)}")
            column: Rows = flat(array if array is None else array.reshape(-1))
            return column

        return scalars
    if field.kind == "vector":
        return reader(replace(field, kind="matrix", dims=(-1, -1)))
    if field.kind == "array":
        whole = reader(replace(field, dims=(-1, *field.dims)))
        return lambda array: list(whole(array))
    one = reader(field)
    return lambda array: [one(row) for row in array]


def column_writer(field: FieldPlan) -> Callable[[Rows], Array]:
    """From a list with an entry a row to an array of [rows] + dims."""
    if field.kind == "scalar":
        flat = writer(replace(field, kind="vector", dims=(-1,)))
        return lambda column: flat(column).reshape(-1, 1)
    if field.kind == "vector":
        return writer(replace(field, kind="matrix", dims=(-1, -1)))
    one = writer(field)

    def stacked(column: Rows) -> Array:
        arrays = [one(value) for value in column]
        if len({array.shape for array in arrays}) > 1:
            raise CodecError(field.tensor, "rows of different shapes make no tensor")
        return np.stack(arrays)

    return stacked
