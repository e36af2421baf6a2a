"""Brings the inputs and outputs of a config.pbtxt in line with a model's schemas, and leaves the rest of the file alone."""

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf import json_format  # type: ignore[import-untyped]
from tritonclient.grpc.model_config_pb2 import ModelConfig

from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.repository.pbtxt import parse_config, print_config
from vertical_engines.sdk.base_model import TypedModel
from vertical_engines.sdk.cache import SALT_NAME, refuse_response_cache
from vertical_engines.sdk.config import inputs_of, model_config_of, outputs_of
from vertical_engines.sdk.drift import config_drift, is_decoupled
from vertical_engines.sdk.errors import FAILURE_NAME
from vertical_engines.sdk.fields import TritonFieldModel

CONFIG_NAME = "config.pbtxt"
CLASS_NAME = "TritonPythonModel"


@dataclass(frozen=True)
class SchemaModel:
    """A model folder and the class that serves it."""

    folder: Path
    model: type[TypedModel[Any, Any]]

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    @property
    def config_file(self) -> Path:
        return self.folder / CONFIG_NAME

    @property
    def schemas(self) -> dict[str, type[TritonFieldModel]]:
        return {"request": self.model.request_model, "response": self.model.response_model}

    def drift(self) -> list[str]:
        """What config.pbtxt says otherwise than the schemas; the same sentences with which the model would refuse to load."""
        if not self.config_file.exists():
            return [f"there is no {CONFIG_NAME}"]
        config = _as_dict(self._parsed())
        problems = config_drift(config, **{key: schema.plan() for key, schema in self.schemas.items()})
        refusal = refuse_response_cache(config, public=self.model.public, deterministic=self.model.deterministic)
        return [*problems, *([refusal] if refusal else [])]

    def write(self) -> list[str]:
        """Write inputs and outputs where they differ; returns what was different. A file that agrees keeps its comments."""
        plans = {key: schema.plan() for key, schema in self.schemas.items()}
        if not self.config_file.exists():
            made = model_config_of(self.name, request=plans["request"], response=plans["response"])
            self.config_file.write_text(print_config(json_format.ParseDict(made, ModelConfig())), encoding="utf-8")
            return [f"{CONFIG_NAME} is new"]
        parsed = self._parsed()
        config = _as_dict(parsed)
        before = config_drift(config, **plans)
        salted = any(tensor["name"] == SALT_NAME for tensor in config.get("input", [])) or parsed.response_cache.enable
        wanted_inputs = inputs_of(plans["request"], salted=salted)
        if salted and SALT_NAME not in {tensor["name"] for tensor in config.get("input", [])}:
            before.append(f"input {SALT_NAME} is missing from {CONFIG_NAME}")
        if not before:
            return []
        outputs = outputs_of(plans["response"])
        if is_decoupled(config):
            outputs.append({"name": FAILURE_NAME, "data_type": "TYPE_STRING", "dims": [1]})
        parsed.ClearField("input")
        parsed.ClearField("output")
        json_format.ParseDict({"input": wanted_inputs, "output": outputs}, parsed)
        self.config_file.write_text(print_config(parsed), encoding="utf-8")
        return before

    def _parsed(self) -> Any:
        return parse_config(self.config_file.read_text(encoding="utf-8"), where=str(self.config_file))


def find_model(folder: Path, *, named: str = "", python: Sequence[Path] = ()) -> SchemaModel:
    """The class of a model folder: `package.module:Class`, or TritonPythonModel of the newest version's model.py.

    `python` folders come first on the module path, as they do in the image. Raises Failure PipelineInvalid.
    """
    sys.path[:0] = [str(path.resolve()) for path in python if str(path.resolve()) not in sys.path]
    found = _named(named) if named else _in_folder(folder)
    if not (isinstance(found, type) and issubclass(found, TypedModel)) or found.request_model is TritonFieldModel:
        raise _invalid(f"{folder}: {named or CLASS_NAME} names no request_model and response_model")
    return SchemaModel(folder=folder, model=found)


def _named(named: str) -> Any:
    module, _, name = named.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise _invalid(f"{named}: {error}; write package.module:Class") from error


def _in_folder(folder: Path) -> Any:
    versions = sorted((path for path in folder.glob("*/model.py") if path.parent.name.isdigit()), key=lambda path: int(path.parent.name))
    if not versions:
        raise _invalid(f"{folder}: no <version>/model.py; name the class with --class package.module:Class")
    file = versions[-1]
    spec = importlib.util.spec_from_file_location(f"model_of_{folder.resolve().name}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        return getattr(module, CLASS_NAME)
    except (ImportError, AttributeError) as error:
        raise _invalid(f"{file}: {error}; --python FOLDER puts packages on the module path") from error


def _as_dict(message: Any) -> dict[str, Any]:
    config: dict[str, Any] = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return config


def _invalid(message: str) -> Failure:
    return Failure(Reason.PIPELINE_INVALID, message)
