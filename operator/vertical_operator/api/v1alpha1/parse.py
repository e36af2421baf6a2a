"""From an API object to a model, with errors that name the field and say what to do."""

import json
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

Model = TypeVar("Model", bound=BaseModel)


class InvalidObject(ValueError):
    """The object does not fit the model; the text names every field."""


def parse(model: type[Model], content: Any) -> Model:
    """Read an object as the API server has it. Raises InvalidObject with one `field: message` per line."""
    try:
        return model.model_validate_json(json.dumps(content))
    except ValidationError as error:
        raise InvalidObject("\n".join(f"{_path(item['loc'])}: {item['msg']}" for item in error.errors(include_url=False))) from None


def _path(location: tuple[int | str, ...]) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return path.lstrip(".") or "object"
