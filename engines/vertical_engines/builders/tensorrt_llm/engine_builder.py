"""The TensorRTLLM builder: a Hugging Face checkpoint becomes engines of one release for one GPU type, beside their tokenizer."""

import shutil
import tempfile
from pathlib import Path

from vertical_engines.builders.protocol import SourceModel
from vertical_engines.builders.tensorrt_llm import native
from vertical_engines.builders.tensorrt_llm.checkpoint import Checkpoint, read_checkpoint
from vertical_engines.builders.tensorrt_llm.families import RELATIVE_ATTENTION, family_of
from vertical_engines.builders.tensorrt_llm.machine import Machine, check_gpus, check_versions
from vertical_engines.builders.tensorrt_llm.running import run_step
from vertical_engines.builders.tensorrt_llm.steps import ENGINE, TOKENIZER, Programs, Step, build_steps
from vertical_engines.builders.tensorrt_llm.target import BuildTarget, build_target
from vertical_engines.contract.engine import EngineIdentity
from vertical_engines.contract.manifest import SmokeTest
from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.toolchains import Matrix, matrix
from vertical_engines.failure import Failure
from vertical_engines.progress import Say, megabytes

BITS = {"int4": 4, "int8": 8, "fp8": 8}


class TensorRtLlmBuilder:
    """`known` is the compatibility matrix, which an installation may have enlarged."""

    def __init__(self, *, machine: Machine | None = None, programs: Programs | None = None, known: Matrix | None = None) -> None:
        self._machine = machine or Machine()
        self._programs = programs or Programs()
        self._known = known or matrix()

    def target(self, identity: EngineIdentity) -> BuildTarget:
        return build_target(identity, matrix=self._known)

    def plan(self, identity: EngineIdentity, *, model: Path, folder: Path, scratch: Path) -> list[str]:
        target, checkpoint = self.target(identity), read_checkpoint(model)
        check_context(identity, checkpoint)
        return [str(step) for step in build_steps(target, checkpoint, folder=folder, scratch=scratch, programs=self._programs)]

    def check(self, identity: EngineIdentity, *, model: Path) -> SourceModel:
        target, checkpoint = self.target(identity), read_checkpoint(model)
        check_versions(target.release.versions, found=self._machine.versions(), release=target.release.release)
        self.plan(identity, model=model, folder=Path("engine"), scratch=Path("scratch"))
        check_gpus(identity, seen=self._machine.gpus())
        files = (*checkpoint.weights, *checkpoint.tokenizer)
        return SourceModel(description=checkpoint.description, files=files, needed=estimated_size(identity, checkpoint))

    def convert(self, source: SourceModel, *, identity: EngineIdentity, folder: Path, say: Say) -> None:
        checkpoint = read_checkpoint(source.files[0].parent)
        with tempfile.TemporaryDirectory(prefix="trtllm-") as scratch:
            check_scratch(Path(scratch), needed=source.needed)
            steps = build_steps(self.target(identity), checkpoint, folder=folder, scratch=Path(scratch), programs=self._programs)
            for number, step in enumerate(steps, start=1):
                say(f"step {number} of {len(steps)}: {step.doing}")
                say(f"  {' '.join(step.command)}")
                run_step(step, scratch=Path(scratch), folder=folder, source=checkpoint.architecture, say=say, needed=source.needed)
        copy_tokenizer(checkpoint, folder)
        check_engines(folder, world=self.target(identity).gpus)

    def smoke_test(self, identity: EngineIdentity, *, folder: Path, say: Say) -> SmokeTest | None:
        if not (folder / ENGINE).is_dir():
            say("not generated from: an engine with an encoder is only tried by the server")
            return None
        world = self.target(identity).gpus
        with tempfile.TemporaryDirectory(prefix="smoke-") as scratch:
            report = Path(scratch, "smoke.json")
            ranks = ("mpirun", "--bind-to", "none", "-n", str(world)) if world > 1 else ()
            arguments = ("smoke-test", str(folder / ENGINE), str(folder / TOKENIZER), str(report))
            step = Step("smoke test", (*ranks, self._programs.python, str(native.__file__), *arguments))
            run_step(step, scratch=Path(scratch), folder=folder, source="the built engine", say=say, otherwise=Reason.VERIFICATION_FAILED)
            result = SmokeTest.model_validate_json(report.read_text(encoding="utf-8"))
        if not result.tokens:
            raise Failure(Reason.VERIFICATION_FAILED, f"the built engine loads, but generated nothing for {result.prompt!r}")
        return result

    def versions(self) -> dict[str, str]:
        return self._machine.versions()

    def gpu(self) -> str | None:
        return next(iter(self._machine.gpus()), None)


def check_context(identity: EngineIdentity, checkpoint: Checkpoint) -> None:
    """An engine can be longer than its model was made for; what it writes there is noise."""
    build = identity.build
    family = family_of(checkpoint.architecture)
    if family is None or checkpoint.architecture in RELATIVE_ATTENTION:
        return
    longest = max(build.max_input_len, build.max_output_len) if family.encoder_decoder else build.max_seq_len
    if checkpoint.context and longest > checkpoint.context:
        raise Failure(
            Reason.UNSUPPORTED_BUILD_FLAG,
            f"sequences of {longest} tokens are asked for, the model was made for {checkpoint.context}: "
            "lower max_input_len, max_output_len or max_seq_len",
        )


def estimated_size(identity: EngineIdentity, checkpoint: Checkpoint) -> int:
    """Bytes: the weights in their new precision, and a tenth for what is not quantised and for the plan itself."""
    stored = 32 if checkpoint.dtype == "float32" else 16
    return int(checkpoint.size * BITS.get(identity.weights, 16) / stored * 1.1)


def check_scratch(scratch: Path, *, needed: int) -> None:
    """The converted checkpoint is as large as the engine. Raises BuildFailed: another node may have the room."""
    free = shutil.disk_usage(scratch).free
    if free < needed:
        raise Failure(
            Reason.BUILD_FAILED,
            f"no room in the scratch volume {scratch.parent} for the converted checkpoint: about {megabytes(needed)} needed, "
            f"{megabytes(free)} free",
        )


def copy_tokenizer(checkpoint: Checkpoint, folder: Path) -> None:
    target = folder / TOKENIZER
    target.mkdir()
    for path in checkpoint.tokenizer:
        shutil.copyfile(path, target / path.name)


def check_engines(folder: Path, *, world: int) -> None:
    """A build that ended well has left a configuration and one engine per GPU in each part."""
    for part in (path for path in sorted(folder.iterdir()) if path.name != TOKENIZER):
        found = sorted(path.name for path in part.iterdir()) if part.is_dir() else []
        missing = [name for name in ("config.json", *(f"rank{rank}.engine" for rank in range(world))) if name not in found]
        if missing:
            raise Failure(
                Reason.BUILD_FAILED, f"the build ended well, but {part.name} lacks {', '.join(missing)}; it holds {', '.join(found)}"
            )
    if not any(path.name != TOKENIZER for path in folder.iterdir()):
        raise Failure(Reason.BUILD_FAILED, "the build ended well, but wrote nothing")
