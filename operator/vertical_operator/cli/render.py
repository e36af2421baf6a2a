"""`vertical-operator render`: every child of the services in a file, without a cluster."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
import yaml

from vertical_operator.api.v1alpha1 import InvalidObject, VerticalService, parse
from vertical_operator.api.v1alpha1.group import API_VERSION, VERTICAL_SERVICE
from vertical_operator.core.offline import Refused, children
from vertical_operator.core.settings import OperatorSettings

BAD_INPUT = 2


class BadInput(ValueError):
    """The input can't be used; the message is one line."""


class PlainDumper(yaml.SafeDumper):
    """YAML as people write it: no anchors, block style for text of several lines."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


PlainDumper.add_representer(str, _text)


def render_file(file: Path, *, namespace: str, registry: str, toolchain_images: list[str]) -> int:
    """Print a YAML stream of all children. Returns the exit code: 2 with one line per fault on standard error."""
    try:
        settings = OperatorSettings(registry=registry, toolchain_images=dict(map(_override, toolchain_images)))
        manifests = [child for service in _services(file, namespace) for child in _children(service, settings)]
    except BadInput as error:
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
    found = False
    source = "standard input" if str(file) == "-" else str(file)
    for number, document in enumerate(_documents(file), start=1):
        where = f"{source}: document {number}"
        if document is None:
            continue
        if not isinstance(document, dict) or (document.get("apiVersion"), document.get("kind")) != (API_VERSION, VERTICAL_SERVICE.name):
            raise BadInput(f"{where}: expected apiVersion {API_VERSION} and kind {VERTICAL_SERVICE.name}")
        metadata = document.get("metadata")
        if not isinstance(metadata, dict) or not metadata.get("name"):
            raise BadInput(f"{where}: metadata.name: missing")
        try:
            yield parse(VerticalService, {**document, "metadata": {"namespace": namespace, **metadata}})
        except InvalidObject as error:
            raise BadInput("\n".join(f"{source}: {metadata['name']}: {line}" for line in str(error).splitlines())) from None
        found = True
    if not found:
        raise BadInput(f"{source}: holds no {VERTICAL_SERVICE.name}")


def _documents(file: Path) -> list[Any]:
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
        return list(yaml.safe_load_all(text))
    except OSError as error:
        raise BadInput(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{file}: not UTF-8 text") from None
    except yaml.YAMLError as error:
        raise BadInput(f"{file}: not YAML: {' '.join(str(error).split())}") from None


def _children(service: VerticalService, settings: OperatorSettings) -> tuple[dict[str, Any], ...]:
    try:
        return children(service, settings)
    except Refused as error:
        raise BadInput(f"{service.metadata.name}: {error}") from None
