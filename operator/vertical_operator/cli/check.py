"""`vertical-operator check`: what is wrong with services in files, without a cluster."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from vertical_engines.contract.additions import BadToolchains
from vertical_engines.contract.reasons import Reason
from vertical_operator.api.v1alpha1 import InvalidObject, VerticalService, parse
from vertical_operator.cli import BAD_INPUT
from vertical_operator.cli.objects import BadInput, ObjectInFile, objects
from vertical_operator.core.finding import Finding
from vertical_operator.core.policies import findings
from vertical_operator.core.settings import OperatorSettings
from vertical_operator.runtime.toolchains import read_toolchains

FOUND = 1
"""Exit code: something is wrong with an object."""
SCHEMA = "schema"
"""Policy of findings that the API server itself would make."""


@dataclass(frozen=True)
class Located:
    """A finding and the object that it is about."""

    item: ObjectInFile
    finding: Finding

    def line(self) -> str:
        return f"{self.item.file}: {self.item.name}: {self.finding.reason.value}: {self.finding.message}"

    def as_json(self) -> dict[str, Any]:
        metadata = self.item.content["metadata"]
        place = {"file": self.item.file, "document": self.item.number, "namespace": metadata["namespace"], "name": metadata["name"]}
        return {**place, **asdict(self.finding), "reason": self.finding.reason.value, "message": self.finding.message}


def check_files(files: list[Path], *, namespace: str, output: str, toolchains: Path | None) -> int:
    """Print one line per finding, or JSON. Returns the exit code: 0 nothing found, 1 findings, 2 the input can't be used."""
    try:
        settings = OperatorSettings(matrix=read_toolchains(toolchains))
        items = [item for file in files for item in objects(file, namespace=namespace) if item.is_service]
    except (BadInput, BadToolchains) as error:
        for line in str(error).splitlines():
            typer.echo(f"vertical-operator check: {line}", err=True)
        return BAD_INPUT
    found = [Located(item, finding) for item in items for finding in found_in(item, settings)]
    if output == "json":
        typer.echo(json.dumps({"checked": len(items), "findings": [each.as_json() for each in found]}, indent=2, ensure_ascii=False))
    for each in found if output == "text" else ():
        typer.echo(each.line())
    typer.echo(f"{len(items)} checked, {len(found)} finding{'' if len(found) == 1 else 's'}", err=True)
    return FOUND if found else 0


def found_in(item: ObjectInFile, settings: OperatorSettings) -> Iterator[Finding]:
    """What the schema says; when it says nothing, what the policies say."""
    try:
        service = parse(VerticalService, item.content)
    except InvalidObject as error:
        for field, words in error.faults:
            yield Finding(policy=SCHEMA, field=field, where="", reason=Reason.INVALID_SPEC, what=words, why="", instead="")
        return
    yield from findings(service, settings)
