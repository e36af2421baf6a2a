"""From a pydantic model to a structural schema: no references, no unions but int-or-string, and a limit on everything."""

from typing import Any

from pydantic import BaseModel

JsonSchema = dict[str, Any]

UNKNOWN_FIELDS = "x-kubernetes-preserve-unknown-fields"
DROPPED = ("title", "examples")
MAX_LENGTH, MAX_ITEMS, MAX_PROPERTIES = 1024, 64, 64
"""Limits of fields that set none themselves: CEL's cost estimate needs a bound everywhere."""


def structural(model: type[BaseModel]) -> JsonSchema:
    """The schema of a model as a CRD holds it, with descriptions from docstrings."""
    schema = model.model_json_schema(by_alias=True, mode="validation")
    definitions = schema.pop("$defs", {})
    return _node(schema, definitions)


def _node(node: JsonSchema, definitions: dict[str, JsonSchema]) -> JsonSchema:
    node = _without_null(_resolved(node, definitions), definitions)
    node = {key: value for key, value in node.items() if key not in DROPPED and not (key == "default" and value in (None, "", []))}
    if isinstance(node.get("default"), dict) and "properties" in node:
        node["default"] = {}  # the API server fills in the defaults of the fields
    if "const" in node:
        node["enum"] = [node.pop("const")]
    if "description" in node:
        node["description"] = " ".join(node["description"].split())
    if "items" in node:
        node["items"] = _node(node["items"], definitions)
    if "properties" in node:
        node["properties"] = {name: _node(child, definitions) for name, child in node["properties"].items()}
    return _bounded(_closed(node, definitions))


def _resolved(node: JsonSchema, definitions: dict[str, JsonSchema]) -> JsonSchema:
    """The referred definition with what stands beside the reference: a field's own words win over its type's."""
    while "$ref" in node:
        beside = {key: value for key, value in node.items() if key != "$ref"}
        node = {**definitions[node["$ref"].rsplit("/", 1)[-1]], **beside}
    return node


def _without_null(node: JsonSchema, definitions: dict[str, JsonSchema]) -> JsonSchema:
    """An optional field is one that may be left out; null has no meaning of its own."""
    if "anyOf" not in node or "x-kubernetes-int-or-string" in node:
        return node
    choices = [choice for choice in node["anyOf"] if choice.get("type") != "null"]
    if len(choices) != 1:
        raise TypeError(f"no structural schema for a union: {node}")
    beside = {key: value for key, value in node.items() if key != "anyOf"}
    return {**_resolved(choices[0], definitions), **beside}


def _closed(node: JsonSchema, definitions: dict[str, JsonSchema]) -> JsonSchema:
    """Declared fields only, or a map of one type, or (where the model takes any key) unknown fields kept."""
    extra = node.pop("additionalProperties", None)
    if node.get("type") != "object":
        return node
    if "properties" in node:
        if extra not in (None, False):
            node[UNKNOWN_FIELDS] = True
    elif isinstance(extra, dict):
        node["additionalProperties"] = _node(extra, definitions)
    else:
        node[UNKNOWN_FIELDS] = True
    return node


def _bounded(node: JsonSchema) -> JsonSchema:
    kind = node.get("type")
    if kind == "string" and "enum" not in node and node.get("format") != "date-time":
        node.setdefault("maxLength", MAX_LENGTH)
    elif kind == "array":
        node.setdefault("maxItems", MAX_ITEMS)
    elif kind == "object" and "additionalProperties" in node:
        node.setdefault("maxProperties", MAX_PROPERTIES)
    return node
