"""`vertical-operator admission`."""

from pathlib import Path

import typer

from vertical_engines.contract.toolchains import matrix
from vertical_operator.core.admission.policy import admission_yaml


def show_admission_policy(file: Path | None) -> int:
    """Print policy and binding as one YAML stream, or write them into a file. Returns the exit code."""
    text = admission_yaml(matrix())
    if file is None:
        typer.echo(text, nl=False)
        return 0
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        typer.echo(f"vertical-operator admission: {file}: {error.strerror}", err=True)
        return 1
    typer.echo(str(file))
    return 0
