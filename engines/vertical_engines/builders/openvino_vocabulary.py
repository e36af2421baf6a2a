"""From tokenizer.json (byte-level BPE) and its companions to GGUF's keys for the same tokenizer."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vertical_engines.builders.openvino_checkpoint import TOKENIZER, NotCheckpoint

NORMAL, CONTROL, USER_DEFINED = 1, 3, 4


def vocabulary(folder: Path, *, size: int) -> dict[str, Any]:
    """GGUF key to value; `size` rows has the embedding. Raises NotCheckpoint for a tokenizer of another kind."""
    content = json.loads((folder / TOKENIZER).read_text(encoding="utf-8"))
    settings = {**_companion(folder / "tokenizer_config.json"), **_companion(folder / "generation_config.json")}
    model = content.get("model") or {}
    if model.get("type", "BPE") != "BPE" or model.get("byte_fallback") or "ByteLevel" not in json.dumps(content.get("pre_tokenizer")):
        raise NotCheckpoint(f"{TOKENIZER} is no byte-level BPE (as Llama 3, Qwen and SmolLM have); convert the model to GGUF first")
    ids: dict[str, int] = dict(model["vocab"])
    added = {entry["content"]: entry for entry in content.get("added_tokens", [])}
    ids |= {text: entry["id"] for text, entry in added.items()}
    tokens, types = [f"[PAD{number}]" for number in range(size)], [CONTROL] * size
    for text, number in ids.items():
        if number >= size:
            raise NotCheckpoint(f"{TOKENIZER} has token {number}, the model has rows for {size}")
        tokens[number] = text
        types[number] = NORMAL if text not in added else CONTROL if added[text].get("special") else USER_DEFINED
    found = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": _splitting(content.get("pre_tokenizer")),
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": types,
        "tokenizer.ggml.merges": [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]],
        "tokenizer.ggml.add_bos_token": "TemplateProcessing" in json.dumps(content.get("post_processor")),
        "tokenizer.ggml.add_space_prefix": False,
        "tokenizer.chat_template": _chat_template(folder, settings),
    }
    for key, name in (("bos", "bos"), ("eos", "eos"), ("unk", "unknown"), ("pad", "padding")):
        found[f"tokenizer.ggml.{name}_token_id"] = _special(settings, key, ids=ids)
    if found["tokenizer.ggml.eos_token_id"] is None:
        raise NotCheckpoint("neither generation_config.json nor tokenizer_config.json names the token that ends a text (eos)")
    return {key: value for key, value in found.items() if value is not None}


def _chat_template(folder: Path, settings: Mapping[str, Any]) -> str | None:
    """A file of its own in newer checkpoints."""
    path = folder / "chat_template.jinja"
    template = path.read_text(encoding="utf-8") if path.is_file() else settings.get("chat_template")
    return template if isinstance(template, str) else None


def _companion(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    content = json.loads(path.read_text(encoding="utf-8"))
    return content if isinstance(content, dict) else {}


def _special(settings: Mapping[str, Any], key: str, *, ids: Mapping[str, int]) -> int | None:
    """Id of a special token: as a number (the first of several), or by its text."""
    number = settings.get(f"{key}_token_id")
    if isinstance(number, list):
        number = number[0] if number else None
    if isinstance(number, int):
        return number
    text = settings.get(f"{key}_token")
    return ids.get(text["content"] if isinstance(text, dict) else text) if text else None


def _splitting(pre_tokenizer: Any) -> str:
    """GGUF's word for how text is split before merging. Whether the runtime does the same is checked on real texts afterwards."""
    text = json.dumps(pre_tokenizer)
    if '"Digits"' in text:
        return "smollm"
    if '"Split"' not in text:
        return "gpt-2"
    return "llama-bpe" if "{1,3}" in text else "qwen2"
