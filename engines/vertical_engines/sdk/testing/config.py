"""Reads a model's config.pbtxt into the JSON form that Triton hands to python models."""

from pathlib import Path
from typing import Any

from google.protobuf import json_format  # type: ignore[import-untyped]

from vertical_engines.repository.pbtxt import parse_config


def read_config(path: Path) -> dict[str, Any]:
    """The configuration with snake_case keys and enum names. Raises Failure with line and column for an invalid file."""
    message = parse_config(path.read_text(encoding="utf-8"), where=str(path))
    config: dict[str, Any] = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return config
