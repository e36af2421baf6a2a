"""The command line `vertical-operator`: each command in a module of its own, imported only when it runs."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(name="vertical-operator", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


class Output(StrEnum):
    """Forms of an answer."""

    TEXT = "text"
    JSON = "json"


BAD_INPUT = 2
"""Exit code: the input can't be used; one line on standard error says which field and why."""


@app.command()
def run() -> None:
    """Run the operator (in a pod; with OPERATOR_KUBECONFIG, from anywhere). Settings: OPERATOR_* in the environment."""
    from vertical_operator.cli.run import run_operator

    raise typer.Exit(run_operator())


@app.command()
def render(
    file: Annotated[Path, typer.Option("--file", "-f", help="YAML with VerticalServices; - is standard input.")],
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Namespace of objects that name none.")] = "default",
    registry: Annotated[str, typer.Option(help="Prefix put before toolchain images, for a mirror.")] = "",
    toolchain_image: Annotated[list[str] | None, typer.Option(help="<backend>/<release>=<image>, instead of the matrix's image.")] = None,
    toolchains: Annotated[Path | None, typer.Option(help="What the installation adds to the matrix (the chart's extraToolchains).")] = None,
) -> None:
    """Print every child of the services in a file as YAML, as if all engines were built. Needs no cluster."""
    from vertical_operator.cli.render import render_file

    images = toolchain_image or []
    raise typer.Exit(render_file(file, namespace=namespace, registry=registry, toolchain_images=images, toolchains=toolchains))


@app.command()
def check(
    file: Annotated[list[Path], typer.Option("--file", "-f", help="YAML with VerticalServices; - is standard input. May be repeated.")],
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Namespace of objects that name none.")] = "default",
    output: Annotated[Output, typer.Option("--output", "-o", help="One line per finding, or JSON.")] = Output.TEXT,
    toolchains: Annotated[Path | None, typer.Option(help="What the installation adds to the matrix (the chart's extraToolchains).")] = None,
    more: Annotated[list[Path] | None, typer.Argument(metavar="[FILE]...", help="More files.")] = None,
) -> None:
    """Say what is wrong with services before they are applied: schema, releases, GPUs, flags. Needs no cluster. Exit 1: findings."""
    from vertical_operator.cli.check import check_files

    raise typer.Exit(check_files([*file, *(more or [])], namespace=namespace, output=output.value, toolchains=toolchains))


@app.command()
def crd(
    write: Annotated[Path | None, typer.Option("--write", help="Folder to write one file per kind into, instead of printing.")] = None,
) -> None:
    """Print or write the CustomResourceDefinitions, generated from the API models."""
    from vertical_operator.cli.crd import show_crds

    raise typer.Exit(show_crds(write))


@app.command()
def admission(
    write: Annotated[Path | None, typer.Option("--write", help="File to write, instead of printing.")] = None,
) -> None:
    """Print or write the ValidatingAdmissionPolicy with its binding, generated from the compatibility matrix."""
    from vertical_operator.cli.admission import show_admission_policy

    raise typer.Exit(show_admission_policy(write))


@app.command()
def policies() -> None:
    """Print every check and what it refuses, as Markdown: the page of the docs."""
    from vertical_operator.core.policies.page import page

    typer.echo(page(), nl=False)


@app.command()
def version() -> None:
    """Print the version of the operator."""
    from importlib.metadata import version as installed

    typer.echo(installed("vertical-operator"))
