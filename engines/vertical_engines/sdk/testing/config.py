"""Reads a model's config.pbtxt into the JSON form that Triton hands to python models.."""

from pathlib import Path
from typing import Any

from google.protobuf import json_format, text_format  # type: ignore[import-untyped]


def read_config(path: Path) -> dict[str, Any]:
    """The configuration with snake_case keys and enum names. Raises ParseError with line and column for an invalid file."""
    from tritonclient.grpc.model_config_pb2 import ModelConfig

    message = text_format.Parse(path.read_text(encoding="utf-8"), ModelConfig())
    config: dict[str, Any] = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return config
