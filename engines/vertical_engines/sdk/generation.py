"""Writes the fast path of a codec as Python source, one statement per field, so that a request costs what hand-written code costs.

The fast path may give up at anything unusual by raising one of GIVES_UP; the careful path then finds the right words.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from pydantic_core import from_json

from vertical_engines.sdk.dtypes import NUMPY_DTYPES, value_range
from vertical_engines.sdk.errors import CodecError
from vertical_engines.sdk.plan import FieldPlan, SchemaPlan
from vertical_engines.sdk.reading import reader
from vertical_engines.sdk.writing import writer

GIVES_UP = (AttributeError, TypeError, ValueError, CodecError)


class _Unusual(ValueError):
    """Leave it to the careful path."""


def fast_decoder(plan: SchemaPlan, validate: Callable[[dict[str, Any]], Any]) -> Callable[[Any], Any]:
    """`decode(tensors)` for objects with name() and as_numpy()."""
    scope: dict[str, Any] = {"validate": validate, "from_json": from_json, "Unusual": _Unusual}
    empty = {field.tensor: None for field in plan.fields if field.nullable_required}
    lines = ["def decode(tensors):", f"    raw = {empty!r}", "    for tensor in tensors:", "        name = tensor.name()"]
    for number, field in enumerate(plan.fields):
        scope |= {f"dtype{number}": NUMPY_DTYPES[field.data_type], f"read{number}": reader(field)}
        lines.append(f"        {'el' if number else ''}if name == {field.tensor!r}:")
        lines += [f"            {line}" for line in _reading(field, number)]
    decode: Callable[[Any], Any] = _compiled("decode", [*lines, "    return validate(raw)"], scope)
    return decode


def fast_encoder(plan: SchemaPlan) -> Callable[[dict[str, Any], Any], list[Any]]:
    """`encode(values, Tensor)`: a list of Tensor(name, array); None is left out."""
    scope: dict[str, Any] = {"empty": np.empty, "Unusual": _Unusual}
    lines = ["def encode(values, Tensor):", "    tensors = []"]
    for number, field in enumerate(plan.fields):
        scope |= {f"dtype{number}": NUMPY_DTYPES[field.data_type], f"write{number}": writer(field), f"text{number}": field.to_text}
        lines.append(f"    value = values[{field.name!r}]")
        if field.optional:
            lines.append("    if value is not None:")
        indent = "        " if field.optional else "    "
        lines += [indent + line for line in [*_writing(field, number), f"tensors.append(Tensor({field.tensor!r}, array))"]]
    encode: Callable[[dict[str, Any], Any], list[Any]] = _compiled("encode", [*lines, "    return tensors"], scope)
    return encode


def _reading(field: FieldPlan, number: int) -> list[str]:
    target = f"raw[{field.tensor!r}] = "
    wrong_type = f"if array.dtype is not dtype{number}"
    if field.kind == "scalar" and field.item == "text":
        return [target + "tensor.as_numpy().item().decode()"]
    if field.kind == "scalar" and field.item == "json":
        return [target + "from_json(tensor.as_numpy().item(), allow_inf_nan=False)"]
    if field.kind == "scalar" and field.item == "number":
        return ["array = tensor.as_numpy()", wrong_type + ": raise Unusual", target + "array.item()"]
    if field.kind == "vector" and field.item == "text":
        return [target + "[element.decode() for element in tensor.as_numpy().tolist()]"]
    if field.kind == "vector" and field.item == "number":
        return ["array = tensor.as_numpy()", wrong_type + " or array.ndim != 1: raise Unusual", target + "array.tolist()"]
    if field.kind == "array" and all(size == -1 for size in field.dims):
        return ["array = tensor.as_numpy()", f"{wrong_type} or array.ndim != {len(field.dims)}: raise Unusual", target + "array"]
    return [target + f"read{number}(tensor.as_numpy())"]


def _writing(field: FieldPlan, number: int) -> list[str]:
    limits = value_range(field.data_type)
    bounded = limits is not None and field.data_type != "TYPE_FP64"
    if field.kind == "scalar" and field.item != "json":
        refuse = [f"if not {limits[0]!r} <= value <= {limits[1]!r}: raise Unusual"] if bounded and limits else []
        return [*refuse, f"array = empty(1, dtype{number})", f"array[0] = {f'text{number}(value)' if field.to_text else 'value'}"]
    if field.kind == "vector" and field.item in ("text", "bytes") and not field.to_text:
        return [f"array = empty(len(value), dtype{number})", "array[:] = value"]
    if field.kind == "array" and all(size == -1 for size in field.dims):
        usual = f"value.dtype is dtype{number} and value.ndim == {len(field.dims)} and value.flags.c_contiguous"
        return [f"array = value if {usual} else write{number}(value)"]
    return [f"array = write{number}(value)"]


def _compiled(name: str, lines: list[str], scope: dict[str, Any]) -> Any:
    # The source holds names of fields only as literals that repr() made.
    exec(compile("\n".join(lines), f"<{name} of a schema>", "exec"), scope)
    return scope[name]
