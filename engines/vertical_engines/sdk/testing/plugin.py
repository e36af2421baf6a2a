"""Fixtures for tests of models: pytest loads this plugin by itself where the package is installed."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from vertical_engines.sdk.testing.server import FakePbUtils

LoadPipeline = Callable[..., "FakePbUtils"]


@pytest.fixture
def fake_triton() -> Iterator["FakePbUtils"]:
    """A server in this process: `fake_triton.load(model, config)`, then `fake_triton.infer(name, inputs)`."""
    from vertical_engines.sdk.testing.server import FakePbUtils

    with FakePbUtils() as fake:
        yield fake


@pytest.fixture
def load_pipeline(fake_triton: "FakePbUtils") -> LoadPipeline:
    """`load_pipeline(folder, models={"generator": FakeGenerator()})`: the models of a pipeline's folders, each with its own
    config.pbtxt, served by the given objects. A folder without an object is an error, so that no model is forgotten.
    """

    def load(folder: Path, *, models: Mapping[str, Any], parameters: Mapping[str, Mapping[str, str]] | None = None) -> "FakePbUtils":
        from vertical_engines.sdk.testing.config import read_config

        for file in sorted(folder.glob("*/config.pbtxt")):
            name = file.parent.name
            assert name in models, f"{file.parent} has no object in models: {sorted(models)}"
            config = {"name": name, **read_config(file)}
            for key, value in (parameters or {}).get(name, {}).items():
                config.setdefault("parameters", {})[key] = {"string_value": value}
            fake_triton.load(models[name], config, repository=folder)
        return fake_triton

    return load
