"""Faster forms of the two pure-Python functions that Triton's stub calls for every string tensor, installed only where they agree.

The stub looks both up as attributes of `triton_python_backend_utils` at each call. Stubs that do this in C++ have no such attribute.
"""

import os
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

SWITCH = "VERTICAL_FASTBYTES"
"""Environment variable: `0` leaves Triton's own functions in place."""

SERIALISE, DESERIALISE = "serialize_byte_tensor", "deserialize_bytes_tensor"

_LENGTH = struct.Struct("<I")
Function = Callable[[Any], Any]


def install_fastbytes(pb_utils: Any) -> list[str]:
    """Replace what is there and agrees on every sample; returns the names that were replaced. Harmless when repeated."""
    if os.environ.get(SWITCH) == "0":
        return []
    replaced = []
    for name, make, samples in ((SERIALISE, _serialiser, _arrays()), (DESERIALISE, _deserialiser, _buffers())):
        original = getattr(pb_utils, name, None)
        if original is None or getattr(original, "fastbytes", False):
            continue
        fast = make(original)
        if all(_same(fast(sample), original(sample)) for sample in samples):
            fast.fastbytes = True
            setattr(pb_utils, name, fast)
            replaced.append(name)
    return replaced


def _serialiser(original: Function) -> Any:
    def serialize_byte_tensor(tensor: Any) -> Any:
        if tensor.size == 0 or tensor.dtype != object:
            return original(tensor)
        parts: list[bytes] = []
        pack = _LENGTH.pack
        for element in tensor.ravel().tolist():
            raw = element if type(element) is bytes else str(element).encode()
            parts += (pack(len(raw)), raw)
        return b"".join(parts)

    return serialize_byte_tensor


def _deserialiser(original: Function) -> Any:
    def deserialize_bytes_tensor(encoded: Any) -> Any:
        raw = bytes(encoded)
        strings, offset, end, unpack = [], 0, len(raw), _LENGTH.unpack_from
        while offset + 4 <= end:
            start = offset + 4
            offset = start + unpack(raw, offset)[0]
            strings.append(raw[start:offset])
        if offset != end:
            return original(encoded)
        array = np.empty(len(strings), object)
        array[:] = strings
        return array

    return deserialize_bytes_tensor


def _arrays() -> list[Any]:
    """Kinds of arrays that models hand over."""
    mixed = np.empty((2, 3), object)
    mixed[...] = [["é", b"\xff\x00", ""], [7, None, "x" * 300]]
    return [mixed, mixed.T, mixed[:, ::2], np.empty(0, object), np.array([b"a", b"bc"]), np.array(["漢"], object)]


def _buffers() -> list[Any]:
    """Serialised forms of several lengths, as bytes and as the array of bytes that a stub may pass."""
    texts: list[list[bytes]] = [[], [b""], [b"a", b"", "é".encode()], [bytes(range(256)), b"x" * 1000]]
    packed = [b"".join(_LENGTH.pack(len(text)) + text for text in one) for one in texts]
    return [*packed, *(np.frombuffer(one, np.uint8) for one in packed if one)]


def _same(mine: Any, theirs: Any) -> bool:
    if isinstance(theirs, np.ndarray):
        return (
            isinstance(mine, np.ndarray) and mine.shape == theirs.shape and mine.dtype == theirs.dtype and mine.tolist() == theirs.tolist()
        )
    return type(mine) is type(theirs) and bool(mine == theirs)
