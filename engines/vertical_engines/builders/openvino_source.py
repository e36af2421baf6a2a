"""Finds the model that the OpenVINO backend can build from in a folder, or says what is there instead."""

from pathlib import Path
from typing import Literal

from vertical_engines.builders.gguf import NotGguf, read_header
from vertical_engines.builders.protocol import SourceModel
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.progress import megabytes

IR_FILES = tuple(f"openvino_{part}.{ending}" for part in ("model", "tokenizer", "detokenizer") for ending in ("xml", "bin"))
"""An OpenVINO IR that openvino-genai can load: model, tokenizer and detokenizer, each a graph and its weights."""

ARCHITECTURES = ("llama", "qwen2", "qwen3")
"""What the GGUF reader of openvino-genai 2026.4 documents; SmolLM, Llama and TinyLlama models say `llama`."""

MOST_NAMES = 20
UNQUANTISED = (".safetensors", ".bin", ".pt", ".pth")

Kind = Literal["gguf", "ir"]


def listing(folder: Path) -> str:
    """What is in a folder, with sizes, at most 20 names: for messages."""
    entries = sorted(folder.iterdir())
    names = [f"{entry.name}/" if entry.is_dir() else f"{entry.name} ({megabytes(entry.stat().st_size)})" for entry in entries[:MOST_NAMES]]
    more = f" and {len(entries) - MOST_NAMES} more" if len(entries) > MOST_NAMES else ""
    return ", ".join(names) + more if names else "nothing"


def kind_of(source: SourceModel) -> Kind:
    return "gguf" if source.files[0].suffix.lower() == ".gguf" else "ir"


def find_model(model: Path, *, max_seq_len: int) -> SourceModel:
    """A GGUF file (exactly one, or the path itself) or a complete OpenVINO IR, checked. Raises ModelNotFound or ModelInvalid."""
    try:
        return _find_model(model, max_seq_len=max_seq_len)
    except PermissionError as error:
        raise Failure(
            Reason.MODEL_INVALID, f"{error.filename} can't be read: model files must be readable for user or group 1000"
        ) from error


def _find_model(model: Path, *, max_seq_len: int) -> SourceModel:
    if not model.exists():
        raise Failure(Reason.MODEL_NOT_FOUND, f"nothing at {model}: correct the path in spec.model.source")
    if model.is_file():
        return _gguf(model, max_seq_len=max_seq_len)
    files = sorted(path for path in model.iterdir() if path.is_file())
    if not files:
        raise Failure(Reason.MODEL_NOT_FOUND, f"no model files in the path of spec.model.source; it holds {listing(model)}")
    ggufs = [path for path in files if path.suffix.lower() == ".gguf"]
    names = {path.name for path in files}
    if len(ggufs) > 1 or (ggufs and IR_FILES[0] in names):
        raise Failure(
            Reason.MODEL_INVALID, f"more than one model: name a folder that holds one GGUF file or one OpenVINO IR; found {listing(model)}"
        )
    if ggufs:
        return _gguf(ggufs[0], max_seq_len=max_seq_len)
    if IR_FILES[0] in names:
        return _ir(model, files=files)
    hint = (
        "weights of this format can't be built for OpenVINO yet: convert them to GGUF or to an OpenVINO IR first"
        if any(path.suffix in UNQUANTISED for path in files)
        else "needs one .gguf file, or an OpenVINO IR (openvino_model.xml and its companions)"
    )
    raise Failure(Reason.MODEL_INVALID, f"no model that the OpenVINO backend can read; {hint}; found {listing(model)}")


def _gguf(path: Path, *, max_seq_len: int) -> SourceModel:
    try:
        header = read_header(path)
    except NotGguf as error:
        raise Failure(Reason.MODEL_INVALID, f"{path.name} is not a model: {error}") from None
    if header.architecture not in ARCHITECTURES:
        raise Failure(
            Reason.MODEL_INVALID,
            f"{path.name} holds a model of architecture {header.architecture!r}; this release reads {', '.join(ARCHITECTURES)}",
        )
    if header.context_length and max_seq_len > header.context_length:
        raise Failure(
            Reason.UNSUPPORTED_BUILD_FLAG,
            f"max_seq_len is {max_seq_len} tokens (input and output together), the model was made for {header.context_length}: "
            "lower max_input_len, max_output_len or max_seq_len",
        )
    size = path.stat().st_size
    described = f"{path.name} (GGUF, {header.architecture}, {header.tensors} tensors, {megabytes(size)})"
    return SourceModel(description=described, files=(path,), needed=size)


def _ir(model: Path, *, files: list[Path]) -> SourceModel:
    if missing := [name for name in IR_FILES if not (model / name).is_file()]:
        raise Failure(Reason.MODEL_INVALID, f"the OpenVINO IR is incomplete: {', '.join(missing)} missing; found {listing(model)}")
    size = sum(path.stat().st_size for path in files)
    return SourceModel(description=f"an OpenVINO IR ({len(files)} files, {megabytes(size)})", files=tuple(files), needed=size)
