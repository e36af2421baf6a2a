"""The header of a GGUF file: read when it is one, and the accident named when it is not."""

import struct
from pathlib import Path

import pytest

from tests.support.gguf_files import gguf
from vertical_engines.builders.gguf import NotGguf, read_header


def write(folder: Path, content: bytes) -> Path:
    path = folder / "model.gguf"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("version", [2, 3])
def test_a_whole_file_tells_what_it_holds(tmp_path: Path, version: int) -> None:
    header = read_header(write(tmp_path, gguf(architecture="qwen2", context=4096, version=version)))
    assert (header.architecture, header.context_length, header.tensors) == ("qwen2", 4096, 1)


def test_a_file_may_leave_the_context_out_and_choose_its_alignment(tmp_path: Path) -> None:
    assert read_header(write(tmp_path, gguf(context=None, alignment=64))).context_length is None


ACCIDENTS = {
    "empty": (b"", "it is empty"),
    "git lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "Git LFS pointer"),
    "html": (b"<!DOCTYPE html><html>404", "error page"),
    "json": (b'{"error": "not found"}', "error page"),
    "another format": (b"PK\x03\x04" + b"\0" * 100, "instead of b'GGUF'"),
    "old version": (gguf(version=1), "GGUF version 1"),
    "big endian": (b"GGUF" + struct.pack(">I", 3) + b"\0" * 64, "GGUF version 50331648"),
    "magic only": (b"GGUF", "cut off"),
    "mad count": (b"GGUF" + struct.pack("<IQQ", 3, 1, 1 << 60), "damaged: a count of"),
    "unknown type": (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"k" + struct.pack("<I", 99), "unknown type 99"),
}


@pytest.mark.parametrize(("content", "words"), ACCIDENTS.values(), ids=ACCIDENTS.keys())
def test_a_file_that_is_no_model_is_named(tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(NotGguf, match=words):
        read_header(write(tmp_path, content))


def test_a_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    whole = gguf()
    assert read_header(write(tmp_path, whole)).tensors == 1
    for length in range(len(whole)):
        with pytest.raises(NotGguf):
            read_header(write(tmp_path, whole[:length]))


def test_the_text_of_a_cut_file_gives_both_sizes(tmp_path: Path) -> None:
    whole = gguf()
    with pytest.raises(NotGguf, match=f"describes {len(whole)} bytes, the file has {len(whole) - 1}"):
        read_header(write(tmp_path, whole[:-1]))
