"""The API reference and the page of reasons, generated from models and contract.

`python -m vertical_operator.api.v1alpha1.reference --write docs/reference` refreshes the committed pages.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vertical_engines.contract.known_failures import KNOWN_FAILURES
from vertical_engines.contract.reasons import REASONS
from vertical_operator.api.v1alpha1.crd import definitions
from vertical_operator.api.v1alpha1.rules import VALIDATIONS
from vertical_operator.api.v1alpha1.schema import UNKNOWN_FIELDS, JsonSchema

NOTE = "<!-- Made by `python -m vertical_operator.api.v1alpha1.reference --write docs/reference`; edit the models. -->\n"


def api_page() -> str:
    """Every field of both kinds with type, default and limits, and every cross-field rule."""
    parts = [NOTE, "# API reference\n", "Group `serving.vertical-operator.io`, version `v1alpha1`. A bold field is required.\n"]
    for definition in definitions():
        names, version = definition["spec"]["names"], definition["spec"]["versions"][0]
        schema = version["schema"]["openAPIV3Schema"]
        parts.append(f"## {names['kind']}\n\nShort name `{names['shortNames'][0]}`. {schema['description']}\n")
        for part in ("spec", "status"):
            rows = "\n".join(_rows(schema["properties"][part], part))
            parts.append(f"### {names['kind']} {part}\n\n| field | type | default | limits | meaning |\n|---|---|---|---|---|\n{rows}\n")
        rules = "\n".join(f"| {path or 'object'} | {rule['message']} |" for path, rule in _rules(schema, ""))
        parts.append(f"### {names['kind']} rules\n\n| at | the API server says |\n|---|---|\n{rules}\n")
    return "\n".join(parts)


def _rows(node: JsonSchema, path: str) -> Iterator[str]:
    required = node.get("required", ())
    for name, child in node.get("properties", {}).items():
        field = f"{path}.{name}"
        shown = f"**`{field}`**" if name in required else f"`{field}`"
        cells = (shown, _type(child), _default(child), _limits(child), child.get("description", ""))
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        yield from _rows(child.get("items", child), f"{field}[]" if "items" in child else field)


def _type(node: JsonSchema) -> str:
    if "x-kubernetes-int-or-string" in node:
        return "quantity"
    if "enum" in node:
        return " or ".join(f"`{value}`" for value in node["enum"])
    if "items" in node:
        keys = node.get("x-kubernetes-list-map-keys")
        return f"list of {_type(node['items'])}" + (f", one per `{keys[0]}`" if keys else "")
    if "additionalProperties" in node:
        return f"map to {_type(node['additionalProperties'])}"
    return "object, any further keys" if node.get(UNKNOWN_FIELDS) else str(node["type"])


def _default(node: JsonSchema) -> str:
    return f"`{node['default']}`" if "default" in node else ""


def _limits(node: JsonSchema) -> str:
    names = {"minimum": "≥ {}", "maximum": "≤ {}", "maxLength": "≤ {} characters", "maxItems": "≤ {} entries", "maxProperties": "≤ {} keys"}
    return ", ".join(text.format(node[key]) for key, text in names.items() if key in node)


def _rules(node: JsonSchema, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for rule in node.get(VALIDATIONS, []):
        yield path, rule
    for name, child in node.get("properties", {}).items():
        inner = f"{path}.{name}".lstrip(".")
        yield from _rules(child, inner)
        if "items" in child:
            yield from _rules(child["items"], f"{inner}[]")


def reasons_page() -> str:
    """Every reason that conditions, termination messages and logs use."""
    rows = "\n".join(f"| `{reason.value}` | {meaning} | {remedy} |" for reason, (meaning, remedy) in REASONS.items())
    head = "# Reasons\n\nIn conditions, events, termination messages and logs.\n\n| reason | meaning | what to do |\n|---|---|---|"
    return f"{NOTE}\n{head}\n{rows}\n"


def failures_page() -> str:
    """Every failure that is known by the words of a log."""
    rows = "\n".join(f"| `{known.reason.value}` | `{_cell(known.words)}` | {_cell(known.message)} |" for known in KNOWN_FAILURES)
    head = (
        "# Known failures\n\nWords that builders and servers print, as regular expressions, and what they are translated to. The first row "
        "that fits counts; `{names}` are filled in from the words.\n\n| reason | words | message |\n|---|---|---|"
    )
    return f"{NOTE}\n{head}\n{rows}\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def pages() -> dict[str, str]:
    """File name to text, exactly as committed under `docs/reference/`."""
    return {"api.md": api_page(), "failures.md": failures_page(), "reasons.md": reasons_page()}


def write(folder: Path) -> None:
    """Refresh the files of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the reference pages.")
    parser.add_argument("--write", type=Path, required=True, metavar="FOLDER")
    write(parser.parse_args().write)
