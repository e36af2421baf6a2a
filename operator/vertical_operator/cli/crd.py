"""`vertical-operator crd`."""

from pathlib import Path

import typer

from vertical_operator.api.v1alpha1.crd import crds


def show_crds(folder: Path | None) -> int:
    """Print both definitions as one YAML stream, or write one file each into a folder. Returns the exit code."""
    files = crds()
    if folder is None:
        typer.echo("---\n".join(files.values()), nl=False)
        return 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        typer.echo(f"vertical-operator crd: {folder}: {error.strerror}", err=True)
        return 1
    for name in files:
        typer.echo(str(folder / name))
    return 0
