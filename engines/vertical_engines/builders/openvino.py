"""The OpenVINO builder: a GGUF file, a safetensors checkpoint, or an IR as it is, becomes an OpenVINO IR that openvino-genai serves on
any x86-64 CPU.

Native code runs in `openvino_native`, a process of its own: damaged models crash it.
"""

import errno
import os
import shutil
import sys
import tempfile
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from vertical_engines.builders.child import run_child
from vertical_engines.builders.gguf import GgufHeader, NotGguf, read_header
from vertical_engines.builders.host import memory_limit
from vertical_engines.builders.openvino_checkpoint import TOKENIZER, read_checkpoint
from vertical_engines.builders.openvino_source import IR_FILES, find_model, kind_of
from vertical_engines.builders.openvino_weights import check_known, has_to_be_written, stored_bytes, wanted_type
from vertical_engines.builders.protocol import SourceModel
from vertical_engines.builders.translation import Circumstances, translate
from vertical_engines.contract.build import EXIT_USER_ERROR
from vertical_engines.contract.engine import EngineIdentity, Weights
from vertical_engines.contract.manifest import SmokeTest
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.progress import Say, megabytes
from vertical_engines.store.failures import free_bytes

DISTRIBUTIONS = ("openvino", "openvino-genai", "openvino-tokenizers", "gguf")
NATIVE = "vertical_engines.builders.openvino_native"


def writable(path: Path, *, scratch: Path, say: Say) -> Path:
    """The file itself, or a copy in scratch: openvino-genai's reader opens a GGUF file for writing, although it only reads it."""
    if os.access(path, os.W_OK):
        return path.resolve()
    say(f"copying {path.name}: it is read-only here")
    try:
        return Path(shutil.copyfile(path, scratch / path.name))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise _no_room(scratch, path.name, path.stat().st_size) from error


def _no_room(scratch: Path, name: str, needed: int) -> Failure:
    free = megabytes(shutil.disk_usage(scratch).free)
    return Failure(
        Reason.BUILD_FAILED,
        f"no room in the scratch volume {scratch.parent} for a copy of {name}: {megabytes(needed)} needed, {free} free",
    )


class OpenVinoBuilder:
    """No length or batch size is baked in: the server enforces the manifest's limits."""

    def plan(self, identity: EngineIdentity, *, model: Path, folder: Path, scratch: Path) -> list[str]:
        source = self.check(identity, model=model)
        kind = kind_of(source)
        anew = kind == "checkpoint" or (kind == "gguf" and has_to_be_written(_header(source.files[0]), identity.weights))
        rewritten = f"its weights written as {wanted_type(identity.weights)}, then " if anew else ""
        what = "copied" if kind == "ir" else f"{rewritten}converted inside the program"
        return [f"# {source.description}: {what} into {folder}; no other program is run"]

    def check(self, identity: EngineIdentity, *, model: Path) -> SourceModel:
        if identity.accelerator:
            raise Failure(
                Reason.GPU_ARCH_UNSUPPORTED,
                f"OpenVINO serves on CPUs: remove accelerator {identity.accelerator.product} from the placement",
            )
        check_known(identity.weights)
        if identity.build.max_beam_width > 1:
            raise Failure(
                Reason.UNSUPPORTED_BUILD_FLAG,
                f"max_beam_width is {identity.build.max_beam_width}: the OpenVINO backend decodes with width 1",
            )
        return find_model(model, max_seq_len=identity.build.max_seq_len, weights=identity.weights)

    def convert(self, source: SourceModel, *, identity: EngineIdentity, folder: Path, say: Say) -> None:
        if kind_of(source) == "ir":
            for path in source.files:
                say(f"copying {path.name}")
                shutil.copyfile(path, folder / path.name)
            return
        # openvino-genai writes the IR beside the file it is given: hence a link in the folder, which must not stay.
        link = folder / "model.gguf"
        with tempfile.TemporaryDirectory(prefix="convert-") as scratch:
            link.symlink_to(_readable(source, identity.weights, scratch=Path(scratch), say=say))
            about = Circumstances(doing="conversion", source=source.files[0].name, needed=source.needed)
            run_native("convert", str(link), about=about, folder=folder, say=say)
        link.unlink()
        if missing := [name for name in IR_FILES if not (folder / name).is_file()]:
            raise Failure(Reason.BUILD_FAILED, f"the conversion ended well, but did not write {', '.join(missing)}")
        if kind_of(source) == "checkpoint":
            original = source.files[0].parent / TOKENIZER
            about = Circumstances(doing="comparison of tokenizers", source=TOKENIZER)
            run_native("compare-tokenizers", str(folder), str(original), about=about, folder=folder, say=say)

    def smoke_test(self, identity: EngineIdentity, *, folder: Path, say: Say) -> SmokeTest:
        with tempfile.TemporaryDirectory(prefix="smoke-") as scratch:
            report = Path(scratch, "smoke.json")
            about = Circumstances(doing="smoke test", source="the built engine", otherwise=Reason.VERIFICATION_FAILED)
            run_native("smoke-test", str(folder), identity.build.kv_layout, str(report), about=about, folder=folder, say=say)
            result = SmokeTest.model_validate_json(report.read_text(encoding="utf-8"))
        if not result.tokens:
            raise Failure(Reason.VERIFICATION_FAILED, f"the built engine loads, but generated nothing for {result.prompt!r}")
        return result

    def versions(self) -> dict[str, str]:
        found = {name.replace("-", "_"): metadata.version(name) for name in DISTRIBUTIONS}
        return {"python": ".".join(map(str, sys.version_info[:3])), **found}

    def gpu(self) -> str | None:
        return None


def _readable(source: SourceModel, weights: Weights, *, scratch: Path, say: Say) -> Path:
    """A GGUF file with the wanted weights that the runtime's reader takes: the source itself, or one written into scratch."""
    first = source.files[0]
    if kind_of(source) == "gguf" and not has_to_be_written(_header(first), weights):
        return writable(first, scratch=scratch, say=say)
    written, kind = scratch / "model.gguf", wanted_type(weights)
    say(f"writing the weights as {kind}")
    if shutil.disk_usage(scratch).free < (needed := _written_bytes(source, kind)):
        raise _no_room(scratch, first.name, needed)
    origin = first if kind_of(source) == "gguf" else first.parent
    about = Circumstances(doing=f"writing the weights as {kind}", source=first.name, needed=source.needed)
    run_native("repack", str(origin), str(written), kind, about=about, folder=scratch, say=say)
    return written


def _header(path: Path) -> GgufHeader:
    """It was read before, by the check: what is wrong now has happened since."""
    try:
        return read_header(path)
    except NotGguf as error:
        raise Failure(Reason.MODEL_INVALID, f"{path.name} has changed while it was built from: {error}") from None


def _written_bytes(source: SourceModel, kind: Weights) -> int:
    """Tables of the vocabulary and what stays float32 are a few MB beside the weights."""
    first = source.files[0]
    parameters = _header(first).parameters if kind_of(source) == "gguf" else read_checkpoint(first.parent).parameters
    return stored_bytes(parameters, kind) + 32 * 1024 * 1024


def run_native(*arguments: str, about: Circumstances, folder: Path, say: Say) -> None:
    """Run one command of `openvino_native`; `folder` is where it writes. Raises `Failure` for whatever ends it badly."""
    ended = run_child([sys.executable, "-u", "-m", NATIVE, *arguments], say=say, doing=about.doing)
    if ended.code == EXIT_USER_ERROR:
        raise Failure(Reason.MODEL_INVALID, f"{about.source} can't be built: {ended.tail[-1] if ended.tail else 'no reason given'}")
    if ended.code:
        raise translate(ended, replace(about, free=free_bytes(folder), limit=memory_limit()))
