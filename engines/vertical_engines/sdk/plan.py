"""What a schema means as tensors: all reflection happens here, once per class, and every refusal comes with its reason."""

import types
from dataclasses import dataclass, replace
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np
from pydantic import BaseModel, Strict, TypeAdapter
from pydantic.fields import FieldInfo

from vertical_engines.sdk.dtypes import ALLOWED_TYPES, DEFAULT_TYPES, NUMPY_DTYPES, STRING, Json, TritonType
from vertical_engines.sdk.texts import ToText, text_form

Kind = Literal["scalar", "vector", "matrix", "array"]
Item = Literal["text", "bytes", "number", "json"]


class SchemaError(TypeError):
    """A schema that has no tensor form; raised when the class is created."""


@dataclass(frozen=True)
class FieldPlan:
    """One field as one tensor."""

    name: str
    tensor: str
    data_type: str
    dims: tuple[int, ...]
    kind: Kind
    item: Item
    optional: bool
    """The tensor may be absent."""
    nullable_required: bool
    """The field has no default, but None stands for an absent tensor."""
    adapter: TypeAdapter[Any] | None = None
    """Serialiser of one JSON element."""
    to_text: ToText | None = None
    """For types other than str that travel as text: the text of a value."""


@dataclass(frozen=True)
class SchemaPlan:
    """The fields of a schema in order of declaration."""

    schema: type[BaseModel]
    fields: tuple[FieldPlan, ...]


@dataclass(frozen=True)
class _Shape:
    kind: Kind
    item: Item
    python: type | None = None
    element: Any = None
    to_text: ToText | None = None


def compile_plan(schema: type[BaseModel]) -> SchemaPlan:
    """The plan of a complete pydantic class; SchemaError says which field can't be a tensor and why."""
    fields = tuple(_field(schema, name, info) for name, info in schema.model_fields.items())
    tensors = [field.tensor for field in fields]
    if doubled := {name for name in tensors if tensors.count(name) > 1}:
        raise SchemaError(f"{schema.__name__}: two fields share the tensor name {sorted(doubled)}")
    return SchemaPlan(schema=schema, fields=fields)


def _field(schema: type[BaseModel], name: str, info: FieldInfo) -> FieldPlan:
    where = f"{schema.__name__}.{name}"
    bare, markers, nullable = _unwrap(info.annotation, where)
    markers = [*info.metadata, *markers]
    as_json = any(isinstance(mark, Json) or mark is Json for mark in markers)
    shape = _Shape("scalar", "json", element=info.annotation) if as_json else _classify(bare, where, markers)
    chosen = next((mark for mark in markers if isinstance(mark, TritonType)), None)
    data_type = _data_type(shape, chosen, info, where)
    if shape.to_text and (schema.model_config.get("strict") or any(isinstance(mark, Strict) and mark.strict for mark in markers)):
        raise SchemaError(f"{where}: a strict field of this type can't be read from text; leave strict out")
    return FieldPlan(
        name=name,
        tensor=info.alias or name,
        data_type=data_type,
        dims=_dims(shape, chosen, where),
        kind=shape.kind,
        item=shape.item,
        optional=nullable or not info.is_required(),
        nullable_required=nullable and info.is_required(),
        adapter=TypeAdapter(shape.element) if shape.item == "json" else None,
        to_text=shape.to_text,
    )


def _unwrap(annotation: Any, where: str) -> tuple[Any, list[Any], bool]:
    """Strip Annotated and Optional from the outside in: bare type, markers found, whether None is allowed."""
    markers: list[Any] = []
    nullable = False
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            annotation, *found = get_args(annotation)
            markers += found
        elif origin in (Union, types.UnionType):
            options = [option for option in get_args(annotation) if option is not type(None)]
            if len(options) != 1:
                raise SchemaError(f"{where}: a union of several types has no single tensor type; use one type, or Json()")
            nullable = True
            annotation = options[0]
        else:
            return annotation, markers, nullable


def _classify(bare: Any, where: str, markers: list[Any]) -> _Shape:
    origin = get_origin(bare)
    if bare is np.ndarray or origin is np.ndarray:
        return _Shape("array", "number")
    if origin in (list, tuple) or bare in (list, tuple):
        return _vector(bare, where, markers)
    return _scalar(bare, where)


def _vector(bare: Any, where: str, markers: list[Any]) -> _Shape:
    arguments = get_args(bare)
    if not arguments or (get_origin(bare) is tuple and (len(arguments) != 2 or arguments[1] is not Ellipsis)):
        raise SchemaError(f"{where}: name the type of the elements as list[T] or tuple[T, ...]")
    element, found, nullable = _unwrap(arguments[0], where)
    markers += found
    if nullable:
        raise SchemaError(f"{where}: a tensor has no place for None among its elements")
    if get_origin(element) in (list, tuple) or element in (list, tuple):
        inner = _vector(element, where, markers)
        if inner.kind != "vector":
            raise SchemaError(f"{where}: lists nest two deep at most; use NDArray with dims, or Json()")
        return replace(inner, kind="matrix")
    inner = _scalar(element, where)
    return replace(inner, kind="vector", element=arguments[0])


def _scalar(bare: Any, where: str) -> _Shape:
    # Python 3.10 says that list[int] is a type, and then issubclass fails.
    plain = isinstance(bare, type) and get_origin(bare) is None
    if get_origin(bare) is Literal and all(isinstance(value, str) for value in get_args(bare)):
        return _Shape("scalar", "text", python=str)
    if plain and issubclass(bare, Enum):
        if not all(isinstance(member.value, str) for member in bare):
            raise SchemaError(f"{where}: the values of an Enum must be str to be a TYPE_STRING")
        return _Shape("scalar", "text", python=str, to_text=_value)
    if plain and (to_text := text_form(bare)):
        return _Shape("scalar", "text", python=str, to_text=to_text)
    if plain and bare in DEFAULT_TYPES:
        return _Shape("scalar", "bytes" if bare is bytes else "text" if bare is str else "number", python=bare)
    if get_origin(bare) is dict or bare is dict or (plain and issubclass(bare, BaseModel)):
        return _Shape("scalar", "json", element=bare)
    if get_origin(bare) in (set, frozenset) or bare in (set, frozenset):
        raise SchemaError(f"{where}: the order of a set is not stable; use a list")
    known = "str, bytes, bool, int, float, dates, UUID, URL, Decimal, Enum of str, models, lists of them, NDArray, or Json()"
    raise SchemaError(f"{where}: {getattr(bare, '__name__', bare)} has no tensor form; use {known}")


def _value(member: Enum) -> str:
    return str(member.value)


def _data_type(shape: _Shape, chosen: TritonType | None, info: FieldInfo, where: str) -> str:
    extra = info.json_schema_extra
    named = chosen.data_type if chosen else extra.get("data_type") if isinstance(extra, dict) else None
    if named is not None and named not in NUMPY_DTYPES:
        hint = " (numpy has no bfloat16, so nothing could read it: use TYPE_FP32)" if named == "TYPE_BF16" else ""
        raise SchemaError(f"{where}: unknown data type {named!r}{hint}; known: {', '.join(NUMPY_DTYPES)}")
    if shape.kind == "array":
        if named is None or named == STRING:
            raise SchemaError(f"{where}: an NDArray needs a numeric TritonType, such as TritonType('TYPE_FP32', dims=(-1,))")
        return str(named)
    if shape.item == "json":
        allowed, default = frozenset({STRING}), STRING
    else:
        assert shape.python is not None
        allowed, default = ALLOWED_TYPES[shape.python], DEFAULT_TYPES[shape.python]
    if named is not None and named not in allowed:
        raise SchemaError(f"{where}: {named} can't hold this type; use one of {', '.join(sorted(allowed))}")
    return str(named or default)


def _dims(shape: _Shape, chosen: TritonType | None, where: str) -> tuple[int, ...]:
    dims = chosen.dims if chosen else None
    if shape.kind == "array":
        dims = dims or (-1,)
        if any(size < 1 and size != -1 for size in dims):
            raise SchemaError(f"{where}: sizes are positive, or -1 for any")
        return dims
    natural = {"scalar": (1,), "vector": (-1,), "matrix": (-1, -1)}[shape.kind]
    if dims is not None and dims != natural:
        raise SchemaError(f"{where}: dims of such a field are {list(natural)}; use NDArray for other shapes")
    return natural
