"""The commands of `vertical-engines schema`: config.pbtxt, JSON Schema and a Markdown page from a model's schemas."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from vertical_engines.contract.build import EXIT_USER_ERROR
from vertical_engines.failure import Failure
from vertical_engines.repository.schema_sync import SchemaModel, find_model
from vertical_engines.sdk.description import json_schema, markdown


@dataclass(frozen=True)
class Chosen:
    """Model folders, and where their classes are."""

    folders: Sequence[Path]
    named: str = ""
    python: Sequence[Path] = ()

    def models(self) -> list[SchemaModel]:
        return [find_model(folder, named=self.named, python=self.python) for folder in self.folders]


def run_generate(chosen: Chosen) -> int:
    """Write what differs and say it. Exit code 0, or 65 for a class or file that can't be read."""
    return _told(chosen, SchemaModel.write, bad=0)


def run_check(chosen: Chosen) -> int:
    """Exit code 65 with one line per difference; 0 and silence when all agree."""
    return _told(chosen, SchemaModel.drift, bad=EXIT_USER_ERROR)


def run_json(chosen: Chosen) -> int:
    """Print the JSON Schema of one model, or an object of them by name."""
    return _printed(chosen, as_json=True)


def run_markdown(chosen: Chosen) -> int:
    """Print the pages of all models."""
    return _printed(chosen, as_json=False)


def _told(chosen: Chosen, work: Callable[[SchemaModel], list[str]], *, bad: int) -> int:
    try:
        told = [(model, work(model)) for model in chosen.models()]
    except Failure as failure:
        typer.echo(f"{failure.reason.value}: {failure.message}", err=True)
        return EXIT_USER_ERROR
    for model, lines in told:
        for line in lines:
            typer.echo(f"{model.name}: {line}")
    return bad if any(lines for _, lines in told) else 0


def _printed(chosen: Chosen, *, as_json: bool) -> int:
    try:
        models = chosen.models()
    except Failure as failure:
        typer.echo(f"{failure.reason.value}: {failure.message}", err=True)
        return EXIT_USER_ERROR
    if as_json:
        schemas = {model.name: json_schema(model.name, **model.schemas) for model in models}
        typer.echo(json.dumps(schemas if len(schemas) > 1 else next(iter(schemas.values())), indent=2))
    else:
        typer.echo("\n".join(markdown(model.name, **model.schemas) for model in models), nl=False)
    return 0
