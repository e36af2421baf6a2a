"""A tokenizer from the files beside an engine: text to ids and back, and the ids that end a sequence. Nothing is downloaded."""

import json
from pathlib import Path
from typing import Any


class FileTokenizer:
    """tokenizer.json is read by the library that made it; what has none is left to transformers, which the images have."""

    def __init__(self, folder: Path) -> None:
        self._fast: Any = None
        self._slow: Any = None
        if (folder / "tokenizer.json").is_file():
            from tokenizers import Tokenizer

            self._fast = Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._fast.no_truncation()
            self._fast.no_padding()
        else:
            from transformers import AutoTokenizer

            self._slow = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
        self.end_ids = end_ids(folder)
        self.decoder_start = decoder_start(folder)
        self.pad_id = _single(folder, "pad_token_id", default=self.end_ids[0] if self.end_ids else 0)

    def encode(self, text: str) -> list[int]:
        return list(self._fast.encode(text).ids) if self._fast else list(self._slow.encode(text))

    def decode(self, ids: list[int]) -> str:
        tokenizer = self._fast or self._slow
        return str(tokenizer.decode(ids, skip_special_tokens=True))


def end_ids(folder: Path) -> list[int]:
    """As generation_config.json says, else config.json; a model may have several."""
    for name in ("generation_config.json", "config.json"):
        found = _read(folder / name).get("eos_token_id")
        if isinstance(found, int):
            return [found]
        if isinstance(found, list) and found:
            return [int(value) for value in found]
    return []


def decoder_start(folder: Path) -> list[int]:
    """What the decoder of a model with an encoder begins with; empty for other models."""
    if not _read(folder / "config.json").get("is_encoder_decoder"):
        return []
    return [_single(folder, "decoder_start_token_id", default=_single(folder, "pad_token_id", default=0))]


def _single(folder: Path, key: str, *, default: int) -> int:
    found = (_read(folder / name).get(key) for name in ("generation_config.json", "config.json"))
    return next((value for value in found if isinstance(value, int)), default)


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return content if isinstance(content, dict) else {}
