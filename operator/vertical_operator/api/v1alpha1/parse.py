"""From an API object to a model, with errors that name the field and say what to do."""

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

Model = TypeVar("Model", bound=BaseModel)


class InvalidObject(ValueError):
    """The object does not fit the model; the text names every field."""

    def __init__(self, faults: Sequence[tuple[str, str]]) -> None:
        super().__init__("\n".join(f"{field}: {words}" for field, words in faults))
        self.faults = tuple(faults)
        """Field and what is wrong with it."""


def parse(model: type[Model], content: Any) -> Model:
    """Read an object as the API server has it. Raises InvalidObject with one `field: message` per line."""
    try:
        return model.model_validate_json(json.dumps(content))
    except ValidationError as error:
        items = error.errors(include_url=False)
        raise InvalidObject([(_path(item["loc"]), item["msg"]) for item in items if not _follows(item, items)]) from None


def _follows(item: ErrorDetails, items: Sequence[ErrorDetails]) -> bool:
    """pydantic counts an entry with a fault as missing: a list that is too short for that reason is no fault of its own."""
    inside = len(item["loc"])
    return item["type"] == "too_short" and any(len(other["loc"]) > inside and other["loc"][:inside] == item["loc"] for other in items)


def _path(location: tuple[int | str, ...]) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return path.lstrip(".") or "object"
