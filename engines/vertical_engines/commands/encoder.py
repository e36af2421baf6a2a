"""The command `encoder`: a BERT sentence encoder from safetensors, tried before it appears, with a record of what it was made from."""

import secrets
import shutil
from importlib import metadata
from pathlib import Path

import numpy

from vertical_engines.builders.host import instruction_set
from vertical_engines.commands.ending import run_to_end
from vertical_engines.contract.build import BuildOutcome
from vertical_engines.contract.frozen import Frozen
from vertical_engines.contract.manifest import EngineFile
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.models.bert import build_encoder
from vertical_engines.models.sentence_encoder import SentenceEncoder
from vertical_engines.progress import progress
from vertical_engines.store.reading import engine_files, file_digest

RECORD = "encoder.json"
WEIGHTS = ("float16", "float32")
PROBES = ["a short text", "another text, which is about something else altogether"]
READ = ("config.json", "model.safetensors", "tokenizer.json", "sentence_bert_config.json")


class EncoderRecord(Frozen):
    """`encoder.json` beside the files: what a manifest is for an engine."""

    weights: str
    hidden_size: int
    """Values of one embedding."""
    source_files: list[EngineFile]
    files: list[EngineFile]
    versions: dict[str, str]
    host_isa: str
    """Information only: the files do not depend on it."""


def run_encoder(*, source: Path, target: Path, weights: str, termination_log: Path) -> int:
    """Exit code: 0, 65 when the source has to be corrected, 75 when another try may help. `target` appears whole, or not at all."""
    say = progress()

    def work() -> BuildOutcome | None:
        if weights not in WEIGHTS:
            raise Failure(Reason.UNSUPPORTED_BUILD_FLAG, f"--weights {weights}: an encoder is built in {' or '.join(WEIGHTS)}")
        _check(source, target)
        staged = target.with_name(f".{target.name}-{secrets.token_hex(4)}")
        try:
            record = _make(source, staged, weights=weights)
            (staged / RECORD).write_text(record.to_json(), encoding="utf-8")
            staged.rename(target)
        finally:
            shutil.rmtree(staged, ignore_errors=True)
        say(f"{target} holds an encoder of {record.hidden_size} values in {weights}")
        return None

    return run_to_end(work, termination_log=termination_log, say=say)


def _check(source: Path, target: Path) -> None:
    if missing := [name for name in READ[:3] if not (source / name).is_file()]:
        raise Failure(Reason.MODEL_NOT_FOUND, f"{source} has no {', '.join(missing)}: it has to be a sentence-transformers folder")
    if target.exists() and any(target.iterdir()):
        raise Failure(Reason.INVALID_SPEC, f"{target} is not empty: give a new folder")
    if target.exists():
        target.rmdir()
    target.parent.mkdir(parents=True, exist_ok=True)


def _make(source: Path, staged: Path, *, weights: str) -> EncoderRecord:
    try:
        build_encoder(source, staged, half=weights == "float16")
    except (ValueError, KeyError) as error:
        raise Failure(Reason.MODEL_INVALID, f"{source} is no BERT encoder that can be built: {error}") from error
    vectors = SentenceEncoder(staged).encode(PROBES)
    lengths = numpy.linalg.norm(vectors, axis=1)
    if not numpy.allclose(lengths, 1, atol=0.01) or float(vectors[0] @ vectors[1]) > 0.99:
        raise Failure(Reason.VERIFICATION_FAILED, f"the encoder gives vectors of lengths {lengths.tolist()}, or two alike")
    read = [source / name for name in READ if (source / name).is_file()]
    return EncoderRecord(
        weights=weights,
        hidden_size=int(vectors.shape[1]),
        source_files=[EngineFile(path=path.name, size=path.stat().st_size, sha256=file_digest(path)) for path in read],
        files=engine_files(staged),
        versions={name: metadata.version(name) for name in ("openvino", "tokenizers", "safetensors", "numpy")},
        host_isa=instruction_set(),
    )
