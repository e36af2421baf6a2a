"""The parts of fetching that need no server: which files, how fast, digests and sums."""

import hashlib
from pathlib import Path

import pytest

from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.sources.meter import Meter
from vertical_engines.sources.protocol import Digest, RemoteFile
from vertical_engines.sources.selection import choose
from vertical_engines.sources.verification import agrees, check_sums, digests

CHOICES = {
    "safetensors win over every other weight": (
        ["config.json", "model.safetensors", "pytorch_model.bin", "tf_model.h5", "onnx/model.onnx", "original/consolidated.00.pth"],
        ["config.json", "model.safetensors"],
    ),
    "shards and their index": (
        ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json", "tokenizer.model"],
        ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json", "tokenizer.model"],
    ),
    "without safetensors the rest stays": (
        ["config.json", "pytorch_model.bin", "README.md", "card.png"],
        ["config.json", "pytorch_model.bin"],
    ),
    "one GGUF": (["small.gguf", ".gitattributes", "README.md"], ["small.gguf"]),
    "an OpenVINO IR": (["openvino_model.xml", "openvino_model.bin"], ["openvino_model.bin", "openvino_model.xml"]),
}


@pytest.mark.parametrize(("names", "wanted"), CHOICES.values(), ids=CHOICES.keys())
def test_which_files_are_the_model(names: list[str], wanted: list[str]) -> None:
    chosen = choose([RemoteFile(name, 1) for name in names], folder=None, patterns=None, where="here")
    assert [file.path for file in chosen] == wanted


@pytest.mark.parametrize("name", ["../escape", "/etc/passwd", "a/../../b", "a\\b", "a\0b"])
def test_names_that_leave_the_folder_are_refused(name: str) -> None:
    with pytest.raises(Failure) as caught:
        choose([RemoteFile(name, 1)], folder=None, patterns=None, where="here")
    assert caught.value.reason is Reason.MODEL_INVALID


def test_rate_and_remaining_time_are_of_the_last_half_minute() -> None:
    time = [0.0]
    meter = Meter(100_000_000, clock=lambda: time[0])
    meter.line(0)
    for second in range(1, 41):
        time[0] = float(second)
        line = meter.line(second * 1_000_000)
    assert line == "40.0 MB of 100.0 MB (40 %, 1.0 MB/s, 1 min 0 s left)"
    time[0] = 100.0
    for _ in range(2):
        line = meter.line(40_000_000)
        time[0] += 31
    assert line == "40.0 MB of 100.0 MB (40 %, 0.0 MB/s)", "a transfer that stands still promises nothing"


@pytest.mark.parametrize("kind", ["sha256", "git-sha1", "md5"])
def test_each_kind_of_digest_tells_one_changed_bit(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    right = {
        "sha256": hashlib.sha256(b"content").hexdigest(),
        "git-sha1": hashlib.sha1(b"blob 7\0content").hexdigest(),
        "md5": hashlib.md5(b"content").hexdigest(),
    }[kind]
    wanted = Digest(kind, right)  # type: ignore[arg-type]
    assert agrees(digests(path, kind=kind), wanted)
    path.write_bytes(b"contenu")
    assert not agrees(digests(path, kind=kind), wanted)


def test_sums_beside_the_model_are_honoured(tmp_path: Path) -> None:
    sums = {"a.bin": "1" * 64, "b/c.bin": "2" * 64}
    (tmp_path / "SHA256SUMS").write_text(f"{'1' * 64}  a.bin\n{'2' * 64} *./b/c.bin\n{'3' * 64}  elsewhere\n\n")
    assert check_sums(tmp_path, sums) == 2
    with pytest.raises(Failure, match=r"b/c\.bin"):
        check_sums(tmp_path, {**sums, "b/c.bin": "4" * 64})
    (tmp_path / "SHA256SUMS").unlink()
    assert check_sums(tmp_path, sums) == 0
