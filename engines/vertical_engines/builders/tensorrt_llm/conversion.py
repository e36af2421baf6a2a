"""The command that makes a TensorRT-LLM checkpoint from a Hugging Face one, by the script of that release."""

from pathlib import Path

from vertical_engines.builders.tensorrt_llm.checkpoint import CALIBRATION, Checkpoint
from vertical_engines.builders.tensorrt_llm.families import KINDS, Family, family_of, known_architectures
from vertical_engines.builders.tensorrt_llm.flags import wants
from vertical_engines.builders.tensorrt_llm.target import BuildTarget
from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.toolchains import Scripts
from vertical_engines.failure import Failure

CONVERT = "convert_checkpoint.py"
QUANTISE = "quantize.py"
CALIBRATION_SAMPLES = "512"


def find_family(target: BuildTarget, checkpoint: Checkpoint) -> Family:
    """The family of a checkpoint, held against what the release can convert. Raises ModelInvalid, UnsupportedBuildFlag."""
    architecture, version = checkpoint.architecture, target.release.version
    family = family_of(architecture)
    if family is None:
        known = ", ".join(known_architectures())
        raise Failure(Reason.MODEL_INVALID, f"the model is a {architecture}; this builder converts {known}")
    if version < (first := family.first_version(architecture)):
        raise Failure(
            Reason.MODEL_INVALID,
            f"{architecture} can be converted since TensorRT-LLM {first.major}.{first.minor}, release {target.release.release} has "
            f"{target.release.versions['tensorrt_llm']}: choose a newer release",
        )
    if family.encoder_decoder and "encoder_model_path" not in target.release.parameters:
        raise Failure(
            Reason.MODEL_INVALID,
            f"{architecture} has an encoder; Triton serves those since TensorRT-LLM 0.12 (release 24.08): choose a newer release",
        )
    if checkpoint.quantised:
        raise Failure(
            Reason.MODEL_INVALID,
            f"the model's weights are quantised already ({checkpoint.quantised}), which the conversion can't read: take the original and "
            "set model.weights, or use backend TensorRTLLMPyTorch",
        )
    if target.identity.weights in ("int8", "int4") and not family.weight_only:
        raise Failure(
            Reason.UNSUPPORTED_BUILD_FLAG,
            f"{family.name} models are not quantised by their conversion script: set model.weights to float16",
        )
    return family


def scripts_of(target: BuildTarget) -> Scripts:
    if target.release.scripts is None:
        raise Failure(Reason.UNKNOWN_TOOLCHAIN, f"no conversion scripts are known for {target.where}")
    return target.release.scripts


def script_path(folders: tuple[str, ...], name: str, *, root: Path) -> Path:
    """The first that exists below `root` (the image's own root but in tests), else where it should be."""
    places = [root / folder.lstrip("/") / name for folder in folders]
    return next((place for place in places if place.is_file()), places[0])


def conversion_command(target: BuildTarget, checkpoint: Checkpoint, *, output: Path, python: str, root: Path) -> list[str]:
    """The arguments are the ones that the scripts of 0.9 to 1.2 share; what is computed in is always said, for `auto` follows the
    source, which a T4 may not be able to follow."""
    family = find_family(target, checkpoint)
    if target.identity.weights == "fp8":
        return _quantisation(target, checkpoint, output=output, python=python, root=root)
    folders = tuple(folder.format(family=family.folder) for folder in scripts_of(target).conversion)
    command = [python, str(script_path(folders, CONVERT, root=root))]
    command += KINDS.get(checkpoint.architecture, ())
    command += ["--model_dir", str(checkpoint.folder), "--output_dir", str(output), "--dtype", target.dtype(checkpoint)]
    command += ["--tp_size", str(target.gpus)]
    if target.identity.weights in ("int8", "int4"):
        command += ["--use_weight_only", "--weight_only_precision", target.identity.weights]
    if wants(target.identity.build, "int8_kv_cache"):
        command += ["--int8_kv_cache"]
    return command


def _quantisation(target: BuildTarget, checkpoint: Checkpoint, *, output: Path, python: str, root: Path) -> list[str]:
    """Scales of float8 are measured on texts, which have to come with the model: nothing is downloaded."""
    if checkpoint.calibration is None:
        raise Failure(
            Reason.MODEL_INVALID,
            f"model.weights fp8 needs texts to measure scales on: add a folder {CALIBRATION}/ with .txt files, "
            "one text a line, to the model source",
        )
    folder = scripts_of(target).quantization
    return [
        *[python, str(script_path((folder,), QUANTISE, root=root)), "--model_dir", str(checkpoint.folder), "--output_dir", str(output)],
        *["--dtype", target.dtype(checkpoint), "--qformat", "fp8", "--tp_size", str(target.gpus)],
        *["--calib_dataset", str(checkpoint.calibration), "--calib_size", CALIBRATION_SAMPLES],
    ]
