"""The TensorRTLLMPyTorch builder: a checkpoint as it is, or quantised, with the arguments to load it with. Nothing is compiled."""

import shutil
import tempfile
from pathlib import Path

from vertical_engines.builders.protocol import SourceModel
from vertical_engines.builders.tensorrt_llm import native, quantise
from vertical_engines.builders.tensorrt_llm.checkpoint import CALIBRATION, Checkpoint, read_checkpoint
from vertical_engines.builders.tensorrt_llm.engine_builder import check_context, estimated_size
from vertical_engines.builders.tensorrt_llm.machine import Machine, check_gpus, check_versions
from vertical_engines.builders.tensorrt_llm.model_yaml import CHECKPOINT, MODEL_YAML, llm_arguments, write_model_yaml
from vertical_engines.builders.tensorrt_llm.running import run_step
from vertical_engines.builders.tensorrt_llm.steps import Programs, Step
from vertical_engines.builders.tensorrt_llm.target import BuildTarget, build_target
from vertical_engines.contract.engine import EngineIdentity
from vertical_engines.contract.manifest import SmokeTest
from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.toolchains import Matrix, matrix
from vertical_engines.failure import Failure
from vertical_engines.progress import Say

FORMATS = {"fp8": "FP8_DEFAULT_CFG", "int4": "INT4_AWQ_CFG"}
"""`model.weights` to ModelOpt's name of a quantisation that TensorRT-LLM's PyTorch backend can run."""


class TensorRtLlmPyTorchBuilder:
    """The same order of checks as the engine builder; quantisation is the only step that runs a program."""

    def __init__(self, *, machine: Machine | None = None, programs: Programs | None = None, known: Matrix | None = None) -> None:
        self._machine = machine or Machine()
        self._programs = programs or Programs()
        self._known = known or matrix()

    def plan(self, identity: EngineIdentity, *, model: Path, folder: Path, scratch: Path) -> list[str]:
        target, checkpoint = self._target(identity), read_checkpoint(model)
        self._check_weights(target, checkpoint)
        step = self._quantisation(target, checkpoint, folder=folder)
        first = str(step) if step else f"# copy of {checkpoint.description} into {folder / CHECKPOINT}"
        return [first, f"# {folder / MODEL_YAML}: {llm_arguments(target, dtype=self._dtype(target, checkpoint))}"]

    def check(self, identity: EngineIdentity, *, model: Path) -> SourceModel:
        target, checkpoint = self._target(identity), read_checkpoint(model)
        check_versions(target.release.versions, found=self._machine.versions(), release=target.release.release)
        self._check_weights(target, checkpoint)
        check_gpus(identity, seen=self._machine.gpus())
        files = (*checkpoint.weights, *checkpoint.tokenizer)
        return SourceModel(description=checkpoint.description, files=files, needed=estimated_size(identity, checkpoint))

    def convert(self, source: SourceModel, *, identity: EngineIdentity, folder: Path, say: Say) -> None:
        target, checkpoint = self._target(identity), read_checkpoint(source.files[0].parent)
        step = self._quantisation(target, checkpoint, folder=folder)
        if step:
            with tempfile.TemporaryDirectory(prefix="quantise-") as scratch:
                say(f"  {' '.join(step.command)}")
                run_step(step, scratch=Path(scratch), folder=folder, source=checkpoint.architecture, say=say, needed=source.needed)
        self._copy(checkpoint, folder / CHECKPOINT, weights=step is None, say=say)
        write_model_yaml(llm_arguments(target, dtype=self._dtype(target, checkpoint)), folder)

    def smoke_test(self, identity: EngineIdentity, *, folder: Path, say: Say) -> SmokeTest | None:
        with tempfile.TemporaryDirectory(prefix="smoke-") as scratch:
            report = Path(scratch, "smoke.json")
            step = Step("smoke test", (self._programs.python, str(native.__file__), "generate", str(folder / MODEL_YAML), str(report)))
            run_step(step, scratch=Path(scratch), folder=folder, source="the checkpoint", say=say, otherwise=Reason.VERIFICATION_FAILED)
            result = SmokeTest.model_validate_json(report.read_text(encoding="utf-8"))
        if not result.tokens:
            raise Failure(Reason.VERIFICATION_FAILED, f"the checkpoint loads, but generated nothing for {result.prompt!r}")
        return result

    def versions(self) -> dict[str, str]:
        return self._machine.versions()

    def gpu(self) -> str | None:
        return next(iter(self._machine.gpus()), None)

    def _target(self, identity: EngineIdentity) -> BuildTarget:
        return build_target(identity, matrix=self._known)

    def _dtype(self, target: BuildTarget, checkpoint: Checkpoint) -> str:
        return "auto" if checkpoint.quantised else target.dtype(checkpoint)

    def _check_weights(self, target: BuildTarget, checkpoint: Checkpoint) -> None:
        check_context(target.identity, checkpoint)
        wanted = target.identity.weights
        if wanted in ("source", "float16", "bfloat16"):
            return
        if wanted not in FORMATS:
            raise Failure(
                Reason.UNSUPPORTED_BUILD_FLAG,
                f"TensorRTLLMPyTorch has no weights in {wanted}: set model.weights to fp8 or int4, or leave it out",
            )
        if checkpoint.quantised:
            raise Failure(
                Reason.MODEL_INVALID, f"the model's weights are quantised already ({checkpoint.quantised}): set model.weights to source"
            )
        if checkpoint.calibration is None:
            raise Failure(
                Reason.MODEL_INVALID,
                f"model.weights {wanted} needs texts to measure scales on: add a folder {CALIBRATION}/ with .txt files, "
                "one text a line, to the model source",
            )

    def _quantisation(self, target: BuildTarget, checkpoint: Checkpoint, *, folder: Path) -> Step | None:
        quantisation = FORMATS.get(target.identity.weights)
        if quantisation is None:
            return None
        what = (str(checkpoint.folder), str(folder / CHECKPOINT), target.dtype(checkpoint), quantisation, str(checkpoint.calibration))
        return Step("quantisation of the checkpoint", (self._programs.python, str(quantise.__file__), *what))

    def _copy(self, checkpoint: Checkpoint, folder: Path, *, weights: bool, say: Say) -> None:
        """Of a quantised one only what the quantisation did not write itself."""
        folder.mkdir(exist_ok=True)
        index = tuple(checkpoint.folder.glob("*.index.json"))
        for path in (*checkpoint.tokenizer, *((*checkpoint.weights, *index) if weights else ())):
            if not (folder / path.name).exists():
                say(f"copying {path.name}")
                shutil.copyfile(path, folder / path.name)
