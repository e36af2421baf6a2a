"""The CustomResourceDefinitions of both kinds, generated from the models.

`python -m vertical_operator.api.v1alpha1.crd --write crds/` refreshes the committed files.
"""

import argparse
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from vertical_operator.api.v1alpha1.engine import Engine
from vertical_operator.api.v1alpha1.group import CATEGORY, ENGINE, GROUP, VERSION, VERTICAL_SERVICE, Kind
from vertical_operator.api.v1alpha1.rules import VALIDATIONS
from vertical_operator.api.v1alpha1.schema import JsonSchema, structural
from vertical_operator.api.v1alpha1.vertical_service import VerticalService

NOTE = "# Made by `python -m vertical_operator.api.v1alpha1.crd --write crds/` from the models; edit those.\n"


def _condition(kind: str, field: str = "status") -> str:
    return f'.status.conditions[?(@.type=="{kind}")].{field}'


def _column(name: str, path: str, *, kind: str = "string", wide: bool = False, description: str = "") -> dict[str, Any]:
    column: dict[str, Any] = {"name": name, "type": kind, "jsonPath": path}
    return column | ({"description": description} if description else {}) | ({"priority": 1} if wide else {})


AGE = _column("Age", ".metadata.creationTimestamp", kind="date")

SERVICE_COLUMNS = (
    _column("Ready", _condition("Ready"), description="Every placement serves."),
    _column("Reason", ".status.reason", description="Why it is not well, or what is waited for."),
    _column("Variants", ".status.variantsReady", description="Variants that serve, of all."),
    _column("Engines", ".status.enginesReady", description="Engines that are built, of all wanted."),
    AGE,
    _column("Message", ".status.message", wide=True),
)

ENGINE_COLUMNS = (
    _column("Model", ".spec.modelName"),
    _column("Flags", ".status.flags", description="Limits and KV cache layout of the variant."),
    _column("GPU", ".status.gpu"),
    _column("Toolchain", ".status.toolchain"),
    _column("Ready", _condition("Ready")),
    _column("State", ".status.state"),
    _column("Build", ".status.buildTime", description="How long the build took."),
    _column("Size", ".status.size"),
    AGE,
    _column("Message", ".status.message", wide=True),
)


def crd(model: type[BaseModel], *, kind: Kind, short_name: str, columns: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """One CustomResourceDefinition. The status default makes an untouched object count as in progress for kstatus."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "singular": kind.name.lower(),
                "shortNames": [short_name],
                "categories": [CATEGORY],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": list(columns),
                    "schema": {"openAPIV3Schema": _root(structural(model))},
                }
            ],
        },
    }


def _root(schema: JsonSchema) -> JsonSchema:
    properties = schema["properties"]
    # Defaults inside status would show up in objects that nobody has looked at yet: only the generation stays.
    status = {**_without_defaults(properties["status"]), "default": {"observedGeneration": -1}}
    return {
        "type": "object",
        "description": schema["description"],
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": properties["spec"],
            "status": status,
        },
        **{key: schema[key] for key in (VALIDATIONS,) if key in schema},
    }


def _without_defaults(node: JsonSchema) -> JsonSchema:
    node = {key: value for key, value in node.items() if key != "default"}
    if "properties" in node:
        node["properties"] = {name: _without_defaults(child) for name, child in node["properties"].items()}
    if "items" in node:
        node["items"] = _without_defaults(node["items"])
    return node


class _Plain(yaml.SafeDumper):
    """Without anchors: a definition that occurs twice is written twice, as other tools do."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def definitions() -> tuple[dict[str, Any], ...]:
    """Both CustomResourceDefinitions as JSON."""
    return (
        crd(VerticalService, kind=VERTICAL_SERVICE, short_name="vsvc", columns=SERVICE_COLUMNS),
        crd(Engine, kind=ENGINE, short_name="eng", columns=ENGINE_COLUMNS),
    )


def crds() -> dict[str, str]:
    """File name to YAML text, exactly as committed under `crds/`."""
    return {
        f"{definition['metadata']['name']}.yaml": NOTE
        + yaml.dump(definition, Dumper=_Plain, sort_keys=False, width=140, allow_unicode=True)
        for definition in definitions()
    }


def write(folder: Path) -> None:
    """Refresh the files of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in crds().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the CustomResourceDefinitions.")
    parser.add_argument("--write", type=Path, required=True, metavar="FOLDER")
    write(parser.parse_args().write)
