"""The pytest plugin in a project of its own: its fixtures are there, and a pipeline is loaded from its folders."""

import os
import subprocess
import sys
from pathlib import Path

import vertical_engines

TEST = """
from pathlib import Path
import numpy as np
import pytest
from vertical_engines.sdk import TritonFieldModel, TritonPythonModel


class Text(TritonFieldModel):
    text: str


class Upper(TritonPythonModel[Text, Text]):
    request_model, response_model = Text, Text

    def handle(self, request):
        return Text(text=request.text.upper() + self.parameters.get("end", ""))


MODELS = Path(__file__).parent / "models"


def test_the_pipeline_answers(load_pipeline):
    triton = load_pipeline(MODELS, models={"upper": Upper()}, parameters={"upper": {"end": "!"}})
    assert triton.infer("upper", {"text": np.array(["a"], object)})["text"].item() == b"A!"


def test_a_model_may_be_loaded_by_hand(fake_triton):
    assert fake_triton.calls == []


def test_no_model_is_forgotten(load_pipeline):
    with pytest.raises(AssertionError, match="has no object in models"):
        load_pipeline(MODELS, models={})
"""

CONFIG = """
backend: "python"
input { name: "text" data_type: TYPE_STRING dims: 1 }
output { name: "text" data_type: TYPE_STRING dims: 1 }
"""


def test_a_project_of_its_own_can_test_its_models(tmp_path: Path) -> None:
    (tmp_path / "models" / "upper").mkdir(parents=True)
    (tmp_path / "models" / "upper" / "config.pbtxt").write_text(CONFIG)
    (tmp_path / "test_it.py").write_text(TEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    # By name, since an environment may have been installed before the plugin was announced in it; named twice it is loaded once.
    command = [sys.executable, "-m", "pytest", "-q", "-p", "vertical_engines.sdk.testing.plugin", "-p", "no:cacheprovider", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(Path(vertical_engines.__file__).parents[1])}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120, env=environment)
    assert "3 passed" in done.stdout, done.stdout + done.stderr
