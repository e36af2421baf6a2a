"""A model's inputs and outputs for people and tools: JSON Schema and a Markdown page, both from its schemas."""

from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from vertical_engines.sdk.fields import TritonFieldModel
from vertical_engines.sdk.plan import FieldPlan

_TITLES = {"request": "Request", "response": "Response"}


class _TensorSchema(GenerateJsonSchema):
    """Knows arrays, which JSON carries as lists."""

    def is_instance_schema(self, schema: core_schema.IsInstanceSchema) -> JsonSchemaValue:
        return {"type": "array"}


def json_schema(name: str, *, request: type[TritonFieldModel], response: type[TritonFieldModel]) -> dict[str, Any]:
    """JSON Schema of both messages under `$defs`; every property carries its tensor as `x-triton`."""
    described = {}
    for key, schema in (("request", request), ("response", response)):
        mode: Any = "validation" if key == "request" else "serialization"
        one = schema.model_json_schema(schema_generator=_TensorSchema, by_alias=True, mode=mode)
        for field in schema.plan().fields:
            prop = one["properties"][field.tensor]
            prop.pop("data_type", None)
            prop["x-triton"] = {"data_type": field.data_type, "dims": list(field.dims)}
        described[key] = one
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": name, "$defs": described}


def markdown(name: str, *, request: type[TritonFieldModel], response: type[TritonFieldModel]) -> str:
    """One page: a table of tensors for each message, with what a schema's docstring says."""
    lines = [f"# {name}", ""]
    described = json_schema(name, request=request, response=response)["$defs"]
    for key, schema in (("request", request), ("response", response)):
        lines += [f"## {_TITLES[key]}", ""]
        if schema.__doc__ and schema.__doc__ != TritonFieldModel.__doc__:
            lines += [" ".join(schema.__doc__.split()), ""]
        lines += ["| tensor | type | dims | required | limits | meaning |", "|---|---|---|---|---|---|"]
        for field in schema.plan().fields:
            lines.append(_row(field, described[key]["properties"][field.tensor]))
        lines.append("")
    return "\n".join(lines)


_LIMITS = (
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "pattern",
    "enum",
)


def _row(field: FieldPlan, described: dict[str, Any]) -> str:
    options = [described, *described.get("anyOf", ())]
    options += [option["items"] for option in options if isinstance(option.get("items"), dict)]
    limits = [f"{key} {option[key]}" for option in options for key in _LIMITS if key in option]
    if field.item == "json":
        limits.append("JSON")
    cells = [
        f"`{field.tensor}`",
        field.data_type,
        f"{list(field.dims)}",
        "no" if field.optional else "yes",
        ", ".join(limits),
        described.get("description", ""),
    ]
    return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
