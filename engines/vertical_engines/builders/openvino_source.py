"""Finds the model that the OpenVINO backend can build from in a folder, or says what is there instead."""

from pathlib import Path
from typing import Literal

from vertical_engines.builders.gguf import NotGguf, read_header
from vertical_engines.builders.openvino_checkpoint import CONFIG, NotCheckpoint, read_checkpoint
from vertical_engines.builders.openvino_weights import check_gguf, check_ir, stored_bytes
from vertical_engines.builders.protocol import SourceModel
from vertical_engines.contract.engine import Weights
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.progress import megabytes

IR_FILES = tuple(f"openvino_{part}.{ending}" for part in ("model", "tokenizer", "detokenizer") for ending in ("xml", "bin"))
"""An OpenVINO IR that openvino-genai can load: model, tokenizer and detokenizer, each a graph and its weights."""

ARCHITECTURES = ("llama", "qwen2", "qwen3")
"""What the GGUF reader of openvino-genai 2026.4 documents; SmolLM, Llama and TinyLlama models say `llama`."""

DIGITS_BY_THREE = ("llama-bpe", "llama3", "llama-v3")
"""Tokenizers that openvino-genai 2026.4 rebuilds differently: found by holding its ids against those of `tokenizers`."""

MOST_NAMES = 20
PICKLED = (".bin", ".pt", ".pth")

Kind = Literal["gguf", "ir", "checkpoint"]


def listing(folder: Path) -> str:
    """What is in a folder, with sizes, at most 20 names: for messages."""
    entries = sorted(folder.iterdir())
    names = [f"{entry.name}/" if entry.is_dir() else f"{entry.name} ({megabytes(entry.stat().st_size)})" for entry in entries[:MOST_NAMES]]
    more = f" and {len(entries) - MOST_NAMES} more" if len(entries) > MOST_NAMES else ""
    return ", ".join(names) + more if names else "nothing"


def kind_of(source: SourceModel) -> Kind:
    by_ending: dict[str, Kind] = {".gguf": "gguf", ".safetensors": "checkpoint"}
    return by_ending.get(source.files[0].suffix.lower(), "ir")


def find_model(model: Path, *, max_seq_len: int, weights: Weights) -> SourceModel:
    """A GGUF file (exactly one, or the path itself), a safetensors checkpoint or a complete OpenVINO IR, checked.

    Raises ModelNotFound, ModelInvalid, or UnsupportedBuildFlag for weights or lengths that can't be had from that source.
    """
    try:
        return _find_model(model, max_seq_len=max_seq_len, weights=weights)
    except PermissionError as error:
        raise Failure(
            Reason.MODEL_INVALID, f"{error.filename} can't be read: model files must be readable for user or group 1000"
        ) from error


def _find_model(model: Path, *, max_seq_len: int, weights: Weights) -> SourceModel:
    if not model.exists():
        raise Failure(Reason.MODEL_NOT_FOUND, f"nothing at {model}: correct the path in spec.model.source")
    if model.is_file():
        return _gguf(model, max_seq_len=max_seq_len, weights=weights)
    files = sorted(path for path in model.iterdir() if path.is_file())
    if not files:
        raise Failure(Reason.MODEL_NOT_FOUND, f"no model files in the path of spec.model.source; it holds {listing(model)}")
    ggufs = [path for path in files if path.suffix.lower() == ".gguf"]
    names = {path.name for path in files}
    safetensors = any(path.suffix == ".safetensors" for path in files)
    if len(ggufs) + (IR_FILES[0] in names) + safetensors > 1:
        raise Failure(
            Reason.MODEL_INVALID,
            "more than one model: name a folder that holds one GGUF file, one safetensors checkpoint or one OpenVINO IR; "
            f"found {listing(model)}",
        )
    if ggufs:
        return _gguf(ggufs[0], max_seq_len=max_seq_len, weights=weights)
    if IR_FILES[0] in names:
        return _ir(model, files=files, weights=weights)
    if safetensors:
        return _checkpoint(model, max_seq_len=max_seq_len, weights=weights)
    hint = (
        "pickled weights are never loaded: take the safetensors of that model, or GGUF"
        if any(path.suffix in PICKLED for path in files)
        else f"needs one .gguf file, a checkpoint ({CONFIG}, model.safetensors, tokenizer.json), or an OpenVINO IR (openvino_model.xml ...)"
    )
    raise Failure(Reason.MODEL_INVALID, f"no model that the OpenVINO backend can read; {hint}; found {listing(model)}")


def _checkpoint(folder: Path, *, max_seq_len: int, weights: Weights) -> SourceModel:
    try:
        found = read_checkpoint(folder)
    except NotCheckpoint as error:
        raise Failure(Reason.MODEL_INVALID, f"not a checkpoint that can be built: {error}; found {listing(folder)}") from None
    _check_length(max_seq_len, found.context_length)
    size = sum(path.stat().st_size for path in found.files)
    described = f"a safetensors checkpoint ({found.architecture}, {len(found.tensors)} tensors, {megabytes(size)})"
    return SourceModel(description=described, files=found.files, needed=stored_bytes(found.parameters, weights))


def _check_length(max_seq_len: int, context_length: int | None) -> None:
    if context_length and max_seq_len > context_length:
        raise Failure(
            Reason.UNSUPPORTED_BUILD_FLAG,
            f"max_seq_len is {max_seq_len} tokens (input and output together), the model was made for {context_length}: "
            "lower max_input_len, max_output_len or max_seq_len",
        )


def _gguf(path: Path, *, max_seq_len: int, weights: Weights) -> SourceModel:
    try:
        header = read_header(path)
    except NotGguf as error:
        raise Failure(Reason.MODEL_INVALID, f"{path.name} is not a model: {error}") from None
    if header.architecture not in ARCHITECTURES:
        raise Failure(
            Reason.MODEL_INVALID,
            f"{path.name} holds a model of architecture {header.architecture!r}; this release reads {', '.join(ARCHITECTURES)}",
        )
    if header.scaled_rope:
        raise Failure(
            Reason.MODEL_INVALID,
            f"{path.name} has factors for its rotary embedding (as Llama 3.1 and later), which this release would leave out silently: "
            "convert the model to an OpenVINO IR first",
        )
    if header.splitting in DIGITS_BY_THREE:
        raise Failure(
            Reason.MODEL_INVALID,
            f"{path.name} splits numbers by three digits ({header.splitting}, as Llama 3), which this release would do digit by digit: "
            "convert the model to an OpenVINO IR first",
        )
    _check_length(max_seq_len, header.context_length)
    check_gguf(header, weights)
    size = path.stat().st_size
    described = f"{path.name} (GGUF, {header.architecture}, {header.tensors} tensors, {megabytes(size)})"
    needed = size if weights == "source" else stored_bytes(header.parameters, weights)
    return SourceModel(description=described, files=(path,), needed=needed)


def _ir(model: Path, *, files: list[Path], weights: Weights) -> SourceModel:
    check_ir(weights)
    if missing := [name for name in IR_FILES if not (model / name).is_file()]:
        raise Failure(Reason.MODEL_INVALID, f"the OpenVINO IR is incomplete: {', '.join(missing)} missing; found {listing(model)}")
    size = sum(path.stat().st_size for path in files)
    return SourceModel(description=f"an OpenVINO IR ({len(files)} files, {megabytes(size)})", files=tuple(files), needed=size)
