"""A Hugging Face checkpoint in a folder: what it is, read from config.json, and whether its files are all there."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.progress import megabytes

CONFIG = "config.json"
WEIGHTS = (".safetensors", ".bin")
CALIBRATION = "calibration"
"""Folder of a model source with texts on which scales are measured: .txt files, one text a line."""

TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
    "generation_config.json",
    CONFIG,
)
"""What a tokenizer is made of, and where the end token is written down."""

MOST_NAMES = 20


@dataclass(frozen=True)
class Checkpoint:
    """`dtype` is the number type that the weights are stored in, as config.json says; `size` in bytes."""

    folder: Path
    architecture: str
    dtype: str
    context: int | None
    """Longest sequence that the model was made for; None where its config does not tell."""
    quantised: str | None
    """Method of weights that are quantised already."""
    weights: tuple[Path, ...]
    size: int

    @property
    def tokenizer(self) -> tuple[Path, ...]:
        return tuple(path for name in TOKENIZER_FILES if (path := self.folder / name).is_file())

    @property
    def calibration(self) -> Path | None:
        found = self.folder / CALIBRATION
        return found if found.is_dir() else None

    @property
    def description(self) -> str:
        return f"{self.architecture} in {self.dtype} ({len(self.weights)} files of weights, {megabytes(self.size)})"


def read_checkpoint(model: Path) -> Checkpoint:
    """The checkpoint in a folder. Raises Failure with ModelNotFound or ModelInvalid that lists what is there."""
    if not model.is_dir() or not any(model.iterdir()):
        raise Failure(Reason.MODEL_NOT_FOUND, f"no folder with a model at {model}: correct the path in spec.model.source")
    try:
        config = json.loads((model / CONFIG).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise _invalid(model, f"there is no {CONFIG}: TensorRT-LLM builds from a checkpoint in the format of Hugging Face") from None
    except PermissionError as error:
        raise Failure(
            Reason.MODEL_INVALID, f"{error.filename} can't be read: model files must be readable for user or group 1000"
        ) from None
    except ValueError as error:
        raise _invalid(model, f"{CONFIG} is not JSON: {error}") from None
    weights = tuple(sorted(path for path in model.iterdir() if path.suffix in WEIGHTS and not path.name.startswith("training_args")))
    if any(path.suffix == ".safetensors" for path in weights):
        weights = tuple(path for path in weights if path.suffix == ".safetensors")
    if not weights:
        raise _invalid(model, "there are no weights (.safetensors or .bin)")
    _check_shards(model, weights)
    text = config.get("text_config") if isinstance(config.get("text_config"), dict) else config
    architectures = config.get("architectures") or []
    if not architectures:
        raise _invalid(model, f"{CONFIG} names no architecture")
    return Checkpoint(
        folder=model,
        architecture=str(architectures[0]),
        dtype=str(config.get("torch_dtype") or config.get("dtype") or "float32"),
        context=_context(text),
        quantised=(config.get("quantization_config") or {}).get("quant_method"),
        weights=weights,
        size=sum(path.stat().st_size for path in weights),
    )


def _context(config: dict[str, Any]) -> int | None:
    found = next(
        (config[key] for key in ("max_position_embeddings", "n_positions", "seq_length") if isinstance(config.get(key), int)), None
    )
    return int(found) if found else None


def _check_shards(model: Path, weights: tuple[Path, ...]) -> None:
    """An index names every shard: one that is missing is found now, not after an hour."""
    index = model / f"{'model.safetensors' if weights[0].suffix == '.safetensors' else 'pytorch_model.bin'}.index.json"
    if not index.is_file():
        return
    try:
        shards = {str(name) for name in json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()}
    except (ValueError, KeyError, AttributeError):
        raise _invalid(model, f"{index.name} is no index of weights") from None
    if missing := sorted(name for name in shards if not (model / name).is_file()):
        raise _invalid(model, f"{index.name} names files that are not there: {', '.join(missing[:MOST_NAMES])}")


def _invalid(model: Path, what: str) -> Failure:
    names = sorted(path.name for path in model.iterdir())
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return Failure(Reason.MODEL_INVALID, f"{what}; found {', '.join(names[:MOST_NAMES])}{more}")
