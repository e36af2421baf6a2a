"""Reads what a Hugging Face checkpoint of the Llama family says of itself: config.json and the headers of its safetensors files.

Layout as the safetensors format describes it: eight bytes with the header's length, the header as JSON, the data.
"""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

CONFIG = "config.json"
WHOLE, INDEX = "model.safetensors", "model.safetensors.index.json"
TOKENIZER = "tokenizer.json"
ARCHITECTURES = {"LlamaForCausalLM": "llama", "Qwen2ForCausalLM": "qwen2", "Qwen3ForCausalLM": "qwen3"}
"""Class of transformers -> name in GGUF."""
TYPES = ("F32", "F16", "BF16")
LONGEST_HEADER = 100_000_000


class NotCheckpoint(Exception):
    """The folder holds no checkpoint that can be built from; the text says what was found."""


@dataclass(frozen=True)
class StoredTensor:
    """Where a tensor stands: `start` in bytes from the beginning of the file, values in row order, little endian."""

    path: Path
    dtype: str
    shape: tuple[int, ...]
    start: int


@dataclass(frozen=True)
class Checkpoint:
    """`architecture` is GGUF's word."""

    folder: Path
    architecture: str
    config: Mapping[str, Any]
    tensors: Mapping[str, StoredTensor]

    @property
    def files(self) -> tuple[Path, ...]:
        """Everything that the engine is made from."""
        beside = ("tokenizer_config.json", "generation_config.json", "chat_template.jinja")
        others = [self.folder / name for name in beside if (self.folder / name).is_file()]
        return (*sorted({tensor.path for tensor in self.tensors.values()}), self.folder / CONFIG, self.folder / TOKENIZER, *others)

    @property
    def parameters(self) -> int:
        return sum(prod(tensor.shape) for tensor in self.tensors.values())

    @property
    def context_length(self) -> int | None:
        return self.config.get("max_position_embeddings")

    @property
    def rope_base(self) -> float:
        """Newer files keep it among `rope_parameters`."""
        nested = self.config.get("rope_parameters") or {}
        return float(self.config.get("rope_theta") or nested.get("rope_theta") or 10000.0)


def read_checkpoint(folder: Path) -> Checkpoint:
    """Read and check everything but the weights themselves. Raises NotCheckpoint."""
    config = _json(folder / CONFIG)
    _json(folder / TOKENIZER)
    architecture = _architecture(config)
    _refuse(config)
    tensors: dict[str, StoredTensor] = {}
    for path in _weight_files(folder):
        tensors |= _tensors(path)
    for name, tensor in tensors.items():
        if tensor.dtype not in TYPES:
            raise NotCheckpoint(f"{tensor.path.name}: {name} has type {tensor.dtype}; only {', '.join(TYPES)} can be read")
    return Checkpoint(folder=folder, architecture=architecture, config=config, tensors=tensors)


def _architecture(config: Mapping[str, Any]) -> str:
    found = config.get("architectures") or ["none"]
    if found[0] not in ARCHITECTURES:
        raise NotCheckpoint(f"{CONFIG} says architecture {found[0]}; {', '.join(ARCHITECTURES)} can be built")
    return ARCHITECTURES[found[0]]


def _refuse(config: Mapping[str, Any]) -> None:
    """What the runtime's reader would leave out without a word, and so answer wrongly."""
    rope = config.get("rope_scaling") or config.get("rope_parameters") or {}
    kind = rope.get("rope_type") or rope.get("type") or "default"
    odd = {
        f"rope_scaling of type {kind}": kind != "default",
        "quantization_config: take the unquantised checkpoint, and set model.weights": bool(config.get("quantization_config")),
        "a sliding window": bool(config.get("use_sliding_window")),
        "biases in its MLP": bool(config.get("mlp_bias")),
        "biases in its attention": bool(config.get("attention_bias")),
        f"activation {config.get('hidden_act')}": config.get("hidden_act", "silu") != "silu",
    }
    for what, found in odd.items():
        if found:
            raise NotCheckpoint(f"{CONFIG} has {what}, which this backend can't build")


def _weight_files(folder: Path) -> list[Path]:
    if not (folder / INDEX).is_file():
        return [folder / WHOLE]
    named = _json(folder / INDEX).get("weight_map")
    if not isinstance(named, dict) or not named:
        raise NotCheckpoint(f"{INDEX} has no weight_map")
    return [folder / Path(str(name)).name for name in sorted(set(named.values()))]


def _tensors(path: Path) -> dict[str, StoredTensor]:
    """By name, from a file that is as long as its header says."""
    try:
        with path.open("rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            text = stream.read(min(length, LONGEST_HEADER))
        header = json.loads(text)
        header.pop("__metadata__", None)
        data = 8 + length
        end = data + max((entry["data_offsets"][1] for entry in header.values()), default=0)
        found = {
            name: StoredTensor(path, entry["dtype"], tuple(entry["shape"]), data + entry["data_offsets"][0])
            for name, entry in header.items()
        }
    except FileNotFoundError:
        raise NotCheckpoint(f"{path.name} is missing") from None
    except (struct.error, ValueError, KeyError, TypeError, AttributeError):
        raise NotCheckpoint(f"{path.name} is no safetensors file: its header can't be read") from None
    if (size := path.stat().st_size) < end:
        raise NotCheckpoint(f"{path.name} is cut off: its header describes {end} bytes, it has {size}; copy or download it again")
    return found


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotCheckpoint(f"{path.name} is missing") from None
    except ValueError as error:
        raise NotCheckpoint(f"{path.name} is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise NotCheckpoint(f"{path.name} is not a JSON object")
    return content
