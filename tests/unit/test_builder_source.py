"""What the OpenVINO builder takes from a model folder, what it refuses, and with which words."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.gguf_files import gguf
from tests.support.stand_in_builder import engine_request
from vertical_engines.builders.gguf import read_header
from vertical_engines.builders.openvino import OpenVinoBuilder, writable
from vertical_engines.builders.openvino_source import IR_FILES, kind_of
from vertical_engines.builders.openvino_weights import has_to_be_written
from vertical_engines.contract.build import EXIT_USER_ERROR
from vertical_engines.contract.engine import Accelerator, EngineIdentity
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure

WHOLE = gguf(context=1024)
IDENTITY = engine_request().identity


def fill(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def identity(*, build: dict[str, Any] | None = None, **changes: Any) -> EngineIdentity:
    return IDENTITY.model_copy(update={**changes, "build": IDENTITY.build.model_copy(update=build or {})})


def test_one_gguf_file_is_found_beside_other_files(tmp_path: Path) -> None:
    fill(tmp_path, {"small.gguf": WHOLE, "README.md": b"#", "licence/LICENSE": b"x"})
    source = OpenVinoBuilder().check(IDENTITY, model=tmp_path)
    assert (source.files, source.needed, kind_of(source)) == ((tmp_path / "small.gguf",), len(WHOLE), "gguf")
    assert "llama" in source.description


def test_the_path_may_be_the_file_itself(tmp_path: Path) -> None:
    fill(tmp_path, {"a.gguf": WHOLE, "b.gguf": WHOLE})
    assert OpenVinoBuilder().check(IDENTITY, model=tmp_path / "b.gguf").files == (tmp_path / "b.gguf",)


def test_an_ir_is_copied_as_it_is(tmp_path: Path) -> None:
    files = {**dict.fromkeys(IR_FILES, b"graph"), "generation_config.json": b"{}"}
    model, folder = fill(tmp_path / "model", files), tmp_path / "engine"
    folder.mkdir()
    builder = OpenVinoBuilder()
    source = builder.check(IDENTITY, model=model)
    builder.convert(source, identity=IDENTITY, folder=folder, say=lambda line: None)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == files


FOLDERS = {
    "nothing": ({}, Reason.MODEL_NOT_FOUND, "it holds nothing"),
    "only a folder": ({"deeper/small.gguf": WHOLE}, Reason.MODEL_NOT_FOUND, "deeper/"),
    "two models": ({"a.gguf": WHOLE, "b.gguf": WHOLE}, Reason.MODEL_INVALID, r"more than one model.*a\.gguf .*b\.gguf"),
    "gguf and ir": ({"a.gguf": WHOLE, **dict.fromkeys(IR_FILES, b"")}, Reason.MODEL_INVALID, "more than one model"),
    "half an ir": ({"openvino_model.xml": b"", "openvino_model.bin": b""}, Reason.MODEL_INVALID, r"openvino_tokenizer\.xml.* missing"),
    "half a checkpoint": ({"model.safetensors": b"x", "config.json": b"{}"}, Reason.MODEL_INVALID, "tokenizer.json is missing"),
    "gguf and checkpoint": ({"a.gguf": WHOLE, "model.safetensors": b"x"}, Reason.MODEL_INVALID, "more than one model"),
    "pickled": ({"pytorch_model.bin": b"x", "config.json": b"{}"}, Reason.MODEL_INVALID, "pickled weights are never loaded"),
    "another splitting": ({"a.gguf": gguf(splitting="llama-bpe")}, Reason.MODEL_INVALID, "by three digits"),
    "scaled rope": ({"a.gguf": gguf(name="rope_freqs.weight")}, Reason.MODEL_INVALID, "leave out silently"),
    "something else": ({"notes.txt": b"x"}, Reason.MODEL_INVALID, r"needs one \.gguf file.*notes\.txt \(0\.0 MB\)"),
    "no model inside": ({"a.gguf": b"hello"}, Reason.MODEL_INVALID, r"a\.gguf is not a model: its 5 bytes start with b'hello'"),
    "another architecture": ({"a.gguf": gguf(architecture="phi3")}, Reason.MODEL_INVALID, "architecture 'phi3'; this release reads llama"),
    "cut off": ({"a.gguf": WHOLE[:-10]}, Reason.MODEL_INVALID, "cut off"),
}


@pytest.mark.parametrize(("files", "reason", "words"), FOLDERS.values(), ids=FOLDERS.keys())
def test_a_folder_without_a_usable_model_is_refused_with_what_is_there(
    tmp_path: Path, files: dict[str, bytes], reason: Reason, words: str
) -> None:
    with pytest.raises(Failure, match=words) as refused:
        OpenVinoBuilder().check(IDENTITY, model=fill(tmp_path, files))
    assert refused.value.reason is reason
    assert refused.value.exit_code == EXIT_USER_ERROR


def test_a_listing_is_bounded(tmp_path: Path) -> None:
    fill(tmp_path, {f"{number:03}.txt": b"" for number in range(500)})
    with pytest.raises(Failure, match="and 480 more") as refused:
        OpenVinoBuilder().check(IDENTITY, model=tmp_path)
    assert len(refused.value.message) < 1000


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Failure) as refused:
        OpenVinoBuilder().check(IDENTITY, model=tmp_path / "absent")
    assert refused.value.reason is Reason.MODEL_NOT_FOUND


REQUESTS = {
    "fp8": ({"weights": "fp8"}, Reason.UNSUPPORTED_BUILD_FLAG, "weights: fp8: OpenVINO builds source, float16, int8, int4"),
    "bfloat16": ({"weights": "bfloat16"}, Reason.UNSUPPORTED_BUILD_FLAG, "weights: bfloat16: OpenVINO builds source"),
    "beams": ({"build": {"max_beam_width": 4}}, Reason.UNSUPPORTED_BUILD_FLAG, "max_beam_width is 4"),
    "length": ({"build": {"max_seq_len": 1025}}, Reason.UNSUPPORTED_BUILD_FLAG, "max_seq_len is 1025 .* made for 1024"),
    "gpu": ({"accelerator": Accelerator(product="Tesla-T4")}, Reason.GPU_ARCH_UNSUPPORTED, "remove accelerator Tesla-T4"),
}


@pytest.mark.parametrize(("changes", "reason", "words"), REQUESTS.values(), ids=REQUESTS.keys())
def test_a_request_that_this_backend_can_not_fulfil_is_refused(tmp_path: Path, changes: dict[str, Any], reason: Reason, words: str) -> None:
    with pytest.raises(Failure, match=words) as refused:
        OpenVinoBuilder().check(identity(**changes), model=fill(tmp_path, {"a.gguf": WHOLE}))
    assert refused.value.reason is reason
    assert refused.value.exit_code == EXIT_USER_ERROR


def test_the_whole_context_of_the_model_may_be_used(tmp_path: Path) -> None:
    assert OpenVinoBuilder().check(identity(build={"max_seq_len": 1024}), model=fill(tmp_path, {"a.gguf": WHOLE}))


def test_a_read_only_file_is_copied_for_a_reader_that_opens_it_for_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = fill(tmp_path / "model", {"a.gguf": WHOLE}) / "a.gguf"
    assert writable(source, scratch=tmp_path, say=lambda line: None) == source
    monkeypatch.setattr("os.access", lambda path, mode: False)
    copy = writable(source, scratch=tmp_path, say=lambda line: None)
    assert copy == tmp_path / "a.gguf"
    assert copy.read_bytes() == WHOLE


Q4_1, F16, BF16, F32 = 3, 1, 30, 0


@pytest.mark.parametrize("weights", ["int8", "int4"])
def test_what_is_quantised_already_is_not_quantised_again(tmp_path: Path, weights: str) -> None:
    fill(tmp_path, {"a.gguf": gguf(kind=Q4_1)})
    with pytest.raises(Failure, match=f"weights: {weights}: the source is quantised already.* use source .* or float16") as refused:
        OpenVinoBuilder().check(identity(weights=weights), model=tmp_path)
    assert refused.value.reason is Reason.UNSUPPORTED_BUILD_FLAG


@pytest.mark.parametrize("weights", ["float16", "int8", "int4"])
def test_an_ir_has_the_weights_it_has(tmp_path: Path, weights: str) -> None:
    with pytest.raises(Failure, match=f"weights: {weights}: an OpenVINO IR is taken as it is: use source"):
        OpenVinoBuilder().check(identity(weights=weights), model=fill(tmp_path, dict.fromkeys(IR_FILES, b"graph")))


@pytest.mark.parametrize(
    ("kind", "weights", "written"),
    [
        (Q4_1, "source", False),
        (Q4_1, "float16", True),
        (F16, "source", False),
        (F16, "float16", False),
        (F16, "int8", True),
        (BF16, "source", True),
        (F32, "source", True),
        (F32, "int4", True),
    ],
)
def test_a_gguf_is_written_anew_only_where_the_reader_needs_it(tmp_path: Path, kind: int, weights: str, written: bool) -> None:
    fill(tmp_path, {"a.gguf": gguf(kind=kind)})
    assert OpenVinoBuilder().check(identity(weights=weights), model=tmp_path)
    assert has_to_be_written(read_header(tmp_path / "a.gguf"), weights) is written


@pytest.mark.parametrize(("kind", "words"), [(F16, ": converted inside"), (F32, ": its weights written as float16, then converted inside")])
def test_the_plan_says_what_becomes_of_the_weights(tmp_path: Path, kind: int, words: str) -> None:
    fill(tmp_path, {"a.gguf": gguf(kind=kind)})
    (line,) = OpenVinoBuilder().plan(IDENTITY, model=tmp_path, folder=tmp_path / "engine", scratch=tmp_path)
    assert words in line


def test_a_source_that_changes_while_it_is_built_from_is_told_as_that(tmp_path: Path) -> None:
    model, folder = fill(tmp_path / "model", {"a.gguf": WHOLE}), tmp_path / "engine"
    folder.mkdir()
    builder = OpenVinoBuilder()
    source = builder.check(IDENTITY, model=model)
    (model / "a.gguf").write_bytes(WHOLE[:-10])
    with pytest.raises(Failure, match=r"a\.gguf has changed while it was built from: it is cut off") as refused:
        builder.convert(source, identity=IDENTITY, folder=folder, say=print)
    assert refused.value.reason is Reason.MODEL_INVALID
