"""`vertical-engines schema`: what it writes, what it keeps, what it finds, and the real pipeline in line with its code."""

import json
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner

import verticals.poi_matching
from vertical_engines.cli import app
from vertical_engines.sdk.testing.config import read_config

POI = Path(verticals.poi_matching.__file__).parent / "models" / "poi_matching_bls"
POI_CLASS = "verticals.poi_matching.bls:PoiMatchingBls"

MODEL = '''
from typing import Annotated
import numpy as np
from pydantic import Field
from vertical_engines.sdk import NDArray, TritonFieldModel, TritonType
from vertical_engines.sdk import TritonPythonModel as Base


class Question(TritonFieldModel):
    """A question."""

    text: str = Field(max_length=9, description="what | is asked")
    vector: Annotated[NDArray, TritonType("TYPE_FP32", dims=(-1, 3))]
    limit: Annotated[int | None, TritonType("TYPE_INT32"), Field(ge=1)] = None


class Answer(TritonFieldModel):
    words: list[str]


class TritonPythonModel(Base[Question, Answer]):
    request_model, response_model = Question, Answer
'''

runner = CliRunner()


def run(*arguments: str) -> tuple[int, str]:
    result = runner.invoke(app, ["schema", *arguments])
    return result.exit_code, result.output


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "asker" / "1").mkdir(parents=True)
    (tmp_path / "asker" / "1" / "model.py").write_text(MODEL)
    return tmp_path / "asker"


def test_a_missing_file_is_written_whole_and_agrees(model: Path) -> None:
    assert run("check", str(model)) == (65, "asker: there is no config.pbtxt\n")
    assert run("generate", str(model)) == (0, "asker: config.pbtxt is new\n")
    assert run("check", str(model)) == (0, "")
    config = read_config(model / "config.pbtxt")
    assert (config["name"], config["backend"]) == ("asker", "python")
    assert config["input"][1] == {"name": "vector", "data_type": "TYPE_FP32", "dims": ["-1", "3"]}
    assert config["input"][2]["optional"] is True


def test_only_inputs_and_outputs_are_written(model: Path) -> None:
    run("generate", str(model))
    file = model / "config.pbtxt"
    file.write_text(file.read_text().replace("TYPE_FP32", "TYPE_FP64") + 'parameters { key: "a" value { string_value: "b" } }\n')
    before = read_config(file)
    status, text = run("check", str(model))
    assert (status, text) == (65, "asker: input vector: config.pbtxt says data_type TYPE_FP64, the schema says TYPE_FP32\n")
    assert run("generate", str(model)) == (0, text)
    after = read_config(file)
    assert after["input"][1]["data_type"] == "TYPE_FP32"
    assert {key: after[key] for key in after if key != "input"} == {key: before[key] for key in before if key != "input"}


def test_a_file_that_agrees_keeps_its_comments(model: Path) -> None:
    run("generate", str(model))
    file = model / "config.pbtxt"
    file.write_text("# mine\n" + file.read_text())
    assert run("generate", str(model)) == (0, "")
    assert file.read_text().startswith("# mine\n")


def test_a_cached_model_gets_the_salt(model: Path) -> None:
    run("generate", str(model))
    file = model / "config.pbtxt"
    file.write_text(file.read_text() + "response_cache { enable: true }\n")
    assert "needs the optional input cache_salt" in run("check", str(model))[1]
    run("generate", str(model))
    assert run("check", str(model)) == (0, "")
    run("generate", str(model))
    assert [tensor["name"] for tensor in read_config(file)["input"]].count("cache_salt") == 1


def test_a_decoupled_model_gets_the_output_for_late_failures(model: Path) -> None:
    run("generate", str(model))
    file = model / "config.pbtxt"
    file.write_text(file.read_text() + "model_transaction_policy { decoupled: true }\n")
    assert "needs the output stream_failure" in run("generate", str(model))[1]
    assert run("check", str(model)) == (0, "")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda folder: (folder / "1" / "model.py").unlink(), "no <version>/model.py"),
        (lambda folder: (folder / "1" / "model.py").write_text("import nothing_like_this"), "nothing_like_this"),
        (lambda folder: (folder / "1" / "model.py").write_text("TritonPythonModel = object"), "names no request_model"),
        (lambda folder: (folder / "config.pbtxt").write_text('nam: "x"'), "config.pbtxt:1"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(model: Path, change: object, words: str) -> None:
    change(model)  # type: ignore[operator]
    status, text = run("check", str(model))
    assert status == 65
    assert words in text
    assert "Traceback" not in text


def test_json_schema_describes_what_the_model_takes(model: Path) -> None:
    status, text = run("json", str(model))
    assert status == 0
    schema = json.loads(text)
    request = schema["$defs"]["request"]
    jsonschema.Draft202012Validator.check_schema(request)
    assert request["properties"]["vector"]["x-triton"] == {"data_type": "TYPE_FP32", "dims": [-1, 3]}
    assert list(jsonschema.Draft202012Validator(request).iter_errors({"text": "far too long", "vector": [[1, 2, 3]]})) != []
    assert list(jsonschema.Draft202012Validator(request).iter_errors({"text": "short", "vector": [[1, 2, 3]], "limit": 1})) == []


def test_the_markdown_page_has_a_row_for_each_tensor(model: Path) -> None:
    status, text = run("markdown", str(model))
    assert status == 0
    assert "A question." in text
    assert "| `text` | TYPE_STRING | [1] | yes | maxLength 9 | what \\| is asked |" in text
    assert "| `limit` | TYPE_INT32 | [1] | no | minimum 1 |  |" in text
    assert "| `words` | TYPE_STRING | [-1] | yes |  |  |" in text


def test_the_pipeline_agrees_with_its_code() -> None:
    assert run("check", str(POI), "--class", POI_CLASS) == (0, "")
    assert run("json", str(POI), "--class", POI_CLASS)[0] == 0
    assert "| `matched` | TYPE_BOOL |" in run("markdown", str(POI), "--class", POI_CLASS)[1]


def test_a_class_that_is_not_there_is_named() -> None:
    assert run("check", str(POI), "--class", "verticals.poi_matching.bls:Nobody")[0] == 65
