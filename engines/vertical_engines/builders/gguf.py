"""Reads the header of a GGUF file: enough to know that it is one, that it is whole, and what model it holds.

Layout as the GGUF specification (ggml project, versions 2 and 3) gives it. Native readers crash on damaged files;
this one says what is wrong.
"""

import mmap
import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

MAGIC = b"GGUF"
VERSIONS = (2, 3)
ROPE_FACTORS = "rope_freqs.weight"
MOST_ENTRIES = 10_000_000
"""More tensors, keys or array items than any model has: a count above it is damage, not a model."""

SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
STRING, ARRAY = 8, 9

BLOCKS = {
    0: (4, 1), 1: (2, 1), 30: (2, 1),
    2: (18, 32), 3: (20, 32), 6: (22, 32), 7: (24, 32), 8: (34, 32),
    10: (84, 256), 11: (110, 256), 12: (144, 256), 13: (176, 256), 14: (210, 256),
}  # fmt: skip
"""Tensor type -> bytes and elements of one block: F32, F16, BF16; Q4_0 to Q8_0; Q2_K to Q6_K. Of other types only the offset is checked."""


class NotGguf(Exception):
    """The file is no GGUF file, or not a whole one; the text says what was found."""


@dataclass(frozen=True)
class GgufHeader:
    architecture: str
    context_length: int | None
    """Tokens; None when the file does not say."""
    tensors: int
    matrix_types: frozenset[int] = frozenset()
    """Types of the tensors with two dimensions or more: the weights proper."""
    parameters: int = 0
    """Elements of all tensors."""
    rope_base: float = 10000.0
    splitting: str = ""
    """How its tokenizer splits text, in GGUF's word."""
    scaled_rope: bool = False
    """It has factors for the rotary embedding (Llama 3.1 and later do)."""


class _Cursor:
    """Takes values one after the other from the start of a file; a file that ends too early is NotGguf."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.at = 0

    def bytes(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise NotGguf(f"it ends inside its header, after {len(self.data)} bytes: the file was cut off")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.bytes(struct.calcsize(form)))[0]

    def count(self) -> int:
        value = int(self.number("<Q"))
        if value > MOST_ENTRIES:
            raise NotGguf(f"its header is damaged: a count of {value} at byte {self.at - 8}")
        return value

    def text(self) -> str:
        return self.bytes(self.count()).decode("utf-8", errors="replace")

    def value(self, kind: int) -> Any:
        if kind == STRING:
            return self.text()
        if kind in SCALARS:
            return self.number(SCALARS[kind])
        if kind != ARRAY:
            raise NotGguf(f"its header is damaged: a value of unknown type {kind} at byte {self.at}")
        item = int(self.number("<I"))
        length = self.count()
        if item in SCALARS:
            self.bytes(length * struct.calcsize(SCALARS[item]))
        else:
            for _ in range(length):
                self.value(item)
        return None


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(64)


def read_header(path: Path) -> GgufHeader:
    """Read and check a GGUF file of any size in well under a second. Raises NotGguf, or OSError when it can't be read."""
    start = _first_bytes(path)
    if not start.startswith(MAGIC):
        raise NotGguf(_what_it_is(start, size=path.stat().st_size))
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        cursor = _Cursor(data)
        cursor.bytes(len(MAGIC))
        if (version := cursor.number("<I")) not in VERSIONS:
            raise NotGguf(f"it is GGUF version {version}; versions {' and '.join(map(str, VERSIONS))} can be read")
        tensors = cursor.count()
        metadata = {}
        for _ in range(cursor.count()):
            name = cursor.text()
            metadata[name] = cursor.value(int(cursor.number("<I")))
        described = [_tensor(cursor) for _ in range(tensors)]
        alignment = int(metadata.get("general.alignment") or 32)
        whole = -(-cursor.at // alignment) * alignment + max((tensor.end for tensor in described), default=0)
        if whole > len(data):
            raise NotGguf(f"it is cut off: its header describes {whole} bytes, the file has {len(data)}; copy or download it again")
        architecture = str(metadata.get("general.architecture") or "unknown")
        context = metadata.get(f"{architecture}.context_length")
        return GgufHeader(
            architecture=architecture,
            context_length=int(context) if context else None,
            tensors=tensors,
            matrix_types=frozenset(tensor.kind for tensor in described if len(tensor.shape) > 1),
            parameters=sum(prod(tensor.shape) for tensor in described),
            rope_base=float(metadata.get(f"{architecture}.rope.freq_base") or 10000.0),
            splitting=str(metadata.get("tokenizer.ggml.pre") or ""),
            scaled_rope=any(tensor.name == ROPE_FACTORS for tensor in described),
        )


@dataclass(frozen=True)
class _Tensor:
    name: str
    shape: tuple[int, ...]
    kind: int
    end: int
    """Bytes after the start of the data part."""


def _tensor(cursor: _Cursor) -> _Tensor:
    name = cursor.text()
    shape = tuple(int(cursor.number("<Q")) for _ in range(min(int(cursor.number("<I")), 8)))
    kind = int(cursor.number("<I"))
    block_bytes, block_elements = BLOCKS.get(kind, (0, 1))
    return _Tensor(name, shape, kind, int(cursor.number("<Q")) + prod(shape) // block_elements * block_bytes)


def _what_it_is(start: bytes, *, size: int) -> str:
    """Names the usual accidents."""
    if not size:
        return "it is empty"
    if start.startswith(b"version https://git-lfs"):
        return "it is a Git LFS pointer, not the model itself: run `git lfs pull` where the source was made"
    if start.lstrip()[:1] in (b"<", b"{"):
        return f"it is a text of {size} bytes that starts with {start[:24]!r}: probably an error page that was saved as the model"
    return f"its {size} bytes start with {start[:8]!r} instead of {MAGIC!r}"
