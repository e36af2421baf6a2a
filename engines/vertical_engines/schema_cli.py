"""The command line of `vertical-engines schema`: names and options only; the work is imported when a command runs."""

from pathlib import Path
from typing import Annotated

import typer

schema = typer.Typer(help="config.pbtxt, JSON Schema and documentation from the schemas of a model.", no_args_is_help=True)

Folders = Annotated[list[Path], typer.Argument(help="Model folders of a pipeline: config.pbtxt and version folders.")]
ClassName = Annotated[str, typer.Option("--class", help="The model's class as package.module:Class, instead of the folder's model.py.")]
PythonFolders = Annotated[list[Path], typer.Option("--python", help="Folder to put on the module path; may be given several times.")]


def _schema(work: str, folders: list[Path], class_name: str, python: list[Path]) -> None:
    from vertical_engines.commands import schema as commands

    raise typer.Exit(getattr(commands, f"run_{work}")(commands.Chosen(folders=folders, named=class_name, python=python)))


@schema.command("generate")
def schema_generate(folders: Folders, class_name: ClassName = "", python: PythonFolders = []) -> None:  # noqa: B006 - typer copies it
    """Write the inputs and outputs of config.pbtxt from the schemas; the rest of the file stays. Prints what was different."""
    _schema("generate", folders, class_name, python)


@schema.command("check")
def schema_check(folders: Folders, class_name: ClassName = "", python: PythonFolders = []) -> None:  # noqa: B006
    """Compare config.pbtxt with the schemas, for CI. Exit 65 with one line per difference."""
    _schema("check", folders, class_name, python)


@schema.command("json")
def schema_json(folders: Folders, class_name: ClassName = "", python: PythonFolders = []) -> None:  # noqa: B006
    """Print JSON Schema of request and response, with the tensor of each field."""
    _schema("json", folders, class_name, python)


@schema.command("markdown")
def schema_markdown(folders: Folders, class_name: ClassName = "", python: PythonFolders = []) -> None:  # noqa: B006
    """Print a page about the model's inputs and outputs."""
    _schema("markdown", folders, class_name, python)
