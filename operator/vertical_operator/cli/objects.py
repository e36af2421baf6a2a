"""Reading objects from YAML files: every document with its place, errors in one line."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from vertical_operator.api.v1alpha1.group import API_VERSION, VERTICAL_SERVICE


class BadInput(ValueError):
    """The input can't be used; each line of the message is one fault."""


@dataclass(frozen=True)
class ObjectInFile:
    """One document of a file."""

    file: str
    number: int
    """Of the document, from 1."""
    content: dict[str, Any]

    @property
    def place(self) -> str:
        return f"{self.file}: document {self.number}"

    @property
    def is_service(self) -> bool:
        return (self.content.get("apiVersion"), self.content.get("kind")) == (API_VERSION, VERTICAL_SERVICE.name)

    @property
    def name(self) -> str:
        return str(self.content["metadata"]["name"])


def objects(file: Path, *, namespace: str) -> Iterator[ObjectInFile]:
    """Every document of a file (`-`: standard input) that is an object; lists are taken apart. Raises BadInput.

    A VerticalService gets the namespace where it names none. A file without one is an error: nothing would be looked at.
    """
    source = "standard input" if str(file) == "-" else str(file)
    found = False
    for number, document in enumerate(_documents(file), start=1):
        for content in _taken_apart(document):
            item = ObjectInFile(file=source, number=number, content=content if isinstance(content, dict) else {})
            if item.is_service:
                metadata = item.content.get("metadata")
                if not isinstance(metadata, dict) or not metadata.get("name"):
                    raise BadInput(f"{item.place}: metadata.name: missing")
                item = ObjectInFile(source, number, {**item.content, "metadata": {"namespace": namespace, **metadata}})
                found = True
            yield item
    if not found:
        raise BadInput(f"{source}: holds no {VERTICAL_SERVICE.name}")


def _taken_apart(document: Any) -> list[Any]:
    """`kubectl get -o yaml` writes several objects as one List."""
    if document is None:
        return []
    if isinstance(document, dict) and document.get("kind") == "List" and isinstance(document.get("items"), list):
        return list(document["items"])
    return [document]


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
