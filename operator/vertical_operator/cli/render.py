"""`vertical-operator render`: every child of the services in a file, without a cluster."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
import yaml

from vertical_engines.contract.additions import BadToolchains
from vertical_operator.api.v1alpha1 import InvalidObject, VerticalService, parse
from vertical_operator.api.v1alpha1.group import API_VERSION, VERTICAL_SERVICE
from vertical_operator.cli import BAD_INPUT
from vertical_operator.cli.objects import BadInput, ObjectInFile, objects
from vertical_operator.core.offline import Refused, children
from vertical_operator.core.settings import OperatorSettings
from vertical_operator.runtime.toolchains import read_toolchains


class PlainDumper(yaml.SafeDumper):
    """YAML as people write it: no anchors, block style for text of several lines."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


PlainDumper.add_representer(str, _text)


def render_file(file: Path, *, namespace: str, registry: str, toolchain_images: list[str], toolchains: Path | None = None) -> int:
    """Print a YAML stream of all children. Returns the exit code: 2 with one line per fault on standard error."""
    try:
        settings = OperatorSettings(
            registry=registry, toolchain_images=dict(map(_override, toolchain_images)), matrix=read_toolchains(toolchains)
        )
        manifests = [child for service in _services(file, namespace) for child in _children(service, settings)]
    except (BadInput, BadToolchains) as error:
        for line in str(error).splitlines():
            typer.echo(f"vertical-operator render: {line}", err=True)
        return BAD_INPUT
    typer.echo(yaml.dump_all(manifests, Dumper=PlainDumper, sort_keys=False, width=140, allow_unicode=True), nl=False)
    return 0


def _override(text: str) -> tuple[str, str]:
    row, separator, image = text.partition("=")
    if not separator or "/" not in row or not image:
        raise BadInput(f"--toolchain-image {text!r}: expected <backend>/<release>=<image>")
    return row, image


def _services(file: Path, namespace: str) -> Iterator[VerticalService]:
    for found in objects(file, namespace=namespace):
        if not found.is_service:
            raise BadInput(f"{found.place}: expected apiVersion {API_VERSION} and kind {VERTICAL_SERVICE.name}")
        yield _parsed(found)


def _parsed(found: ObjectInFile) -> VerticalService:
    try:
        return parse(VerticalService, found.content)
    except InvalidObject as error:
        raise BadInput("\n".join(f"{found.file}: {found.name}: {line}" for line in str(error).splitlines())) from None


def _children(service: VerticalService, settings: OperatorSettings) -> tuple[dict[str, Any], ...]:
    try:
        return children(service, settings)
    except Refused as error:
        raise BadInput(f"{service.metadata.name}: {error}") from None
