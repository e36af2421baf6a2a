"""Small GGUF files written byte by byte, whole or damaged where a test says."""

import struct

U32, STRING, ARRAY = 4, 8, 9
F32 = 0


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def gguf(
    *,
    architecture: str = "llama",
    context: int | None = 2048,
    version: int = 3,
    elements: int = 64,
    alignment: int | None = None,
    name: str = "weight",
    kind: int = F32,
    splitting: str = "",
) -> bytes:
    """A file with a vocabulary of three words and one matrix of `elements` elements."""
    entries = [text("general.architecture") + struct.pack("<I", STRING) + text(architecture)]
    if context:
        entries.append(text(f"{architecture}.context_length") + struct.pack("<II", U32, context))
    if alignment:
        entries.append(text("general.alignment") + struct.pack("<II", U32, alignment))
    if splitting:
        entries.append(text("tokenizer.ggml.pre") + struct.pack("<I", STRING) + text(splitting))
    entries.append(text("tokens") + struct.pack("<IIQ", ARRAY, STRING, 3) + text("a") + text("b") + text("c"))
    entries.append(text("scores") + struct.pack("<IIQ", ARRAY, U32, 2) + struct.pack("<II", 1, 2))
    tensor = text(name) + struct.pack("<IQQIQ", 2, elements // 2, 2, kind, 0)
    header = b"GGUF" + struct.pack("<IQQ", version, 1, len(entries)) + b"".join(entries) + tensor
    return header + b"\0" * (-len(header) % (alignment or 32)) + b"\0" * (4 * elements)
