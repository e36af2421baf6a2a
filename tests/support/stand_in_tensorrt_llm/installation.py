"""An installation of the stand-ins below a folder, laid out as the image of a release is, and models to build from."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from vertical_engines.builders.tensorrt_llm.machine import Machine
from vertical_engines.builders.tensorrt_llm.steps import Programs
from vertical_engines.contract.engine import Accelerator, BuildFlags, ClaimSource, EngineIdentity, ModelSource, Toolchain
from vertical_engines.contract.toolchains import Release

HERE = Path(__file__).parent
FAMILIES = ("llama", "qwen", "gpt", "enc_dec")
GPU_NAMES = {"Tesla-T4": "Tesla T4", "NVIDIA-A100-SXM4-80GB": "NVIDIA A100-SXM4-80GB", "NVIDIA-L4": "NVIDIA L4"}

SMOKE = """#!{python}
import json, os, sys
# Stand-in for the image's Python: scripts are run, TensorRT-LLM itself is not there to be loaded.
if sys.argv[1].endswith("native.py"):
    if os.environ.get("STAND_IN_FAULT") == "load":
        sys.exit("[TensorRT-LLM][ERROR] The engine plan file is generated on an incompatible device, expecting compute 7.5 got compute 8.0")
    tokens = 0 if os.environ.get("STAND_IN_FAULT") == "mute" else 8
    with open(sys.argv[-1], "w") as report:
        json.dump({{"prompt": "stand-in", "text": "stand-in", "tokens": tokens, "seconds": 0.0}}, report)
elif sys.argv[1].endswith("quantise.py"):
    model, output, dtype, form, calibration = sys.argv[2:]
    assert form in ("FP8_DEFAULT_CFG", "INT4_AWQ_CFG") and os.listdir(calibration)
    os.makedirs(output)
    config = json.load(open(model + "/config.json"))
    json.dump({{**config, "quantization_config": {{"quant_method": "modelopt"}}}}, open(output + "/config.json", "w"))
    open(output + "/model.safetensors", "w").write("stand-in")
else:
    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


class StandInMachine(Machine):
    """A machine with the GPUs and versions that a test says."""

    def __init__(self, gpus: list[str], versions: dict[str, str]) -> None:
        self._gpus, self._versions = gpus, versions

    def gpus(self) -> list[str]:
        return self._gpus

    def versions(self) -> dict[str, str]:
        return self._versions


def install(folder: Path, release: Release) -> Programs:
    """`trtllm-build`, the conversion scripts in the folders of the release, and a `python3`."""
    programs, scripts = folder / "bin", release.scripts
    programs.mkdir(parents=True)
    assert scripts is not None
    build = programs / "trtllm-build"
    build.write_text(f'#!/bin/sh\nexec {sys.executable} {HERE / "build.py"} "$@"\n')
    python = programs / "python3"
    python.write_text(SMOKE.format(python=sys.executable))
    for program in (build, python):
        program.chmod(0o755)
    for family in FAMILIES:
        place = folder / scripts.conversion[0].format(family=family).lstrip("/")
        place.mkdir(parents=True)
        shutil.copy(HERE / "convert.py", place / "convert_checkpoint.py")
    quantisation = folder / scripts.quantization.lstrip("/")
    quantisation.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "convert.py", quantisation / "quantize.py")
    return Programs(python=str(python), build=str(build), root=folder)


def write_model(folder: Path, architecture: str = "LlamaForCausalLM", **config: Any) -> Path:
    """A checkpoint in the format of Hugging Face with weights of a few bytes."""
    folder.mkdir(parents=True)
    content = {"architectures": [architecture], "torch_dtype": "bfloat16", "max_position_embeddings": 2048, **config}
    (folder / "config.json").write_text(json.dumps(content))
    (folder / "model.safetensors").write_bytes(b"x" * 4096)
    (folder / "tokenizer.json").write_text("{}")
    return folder


def identity(
    release: str,
    product: str = "NVIDIA-A100-SXM4-80GB",
    *,
    backend: str = "TensorRTLLM",
    weights: str = "float16",
    count: int = 1,
    paged: bool = True,
    plugins: dict[str, Any] | None = None,
    **limits: Any,
) -> EngineIdentity:
    """What the published service builds: background with `paged`, realtime without."""
    build = BuildFlags(
        **{
            "max_input_len": 512,
            "max_output_len": 32,
            "max_seq_len": 544,
            "max_batch_size": 8 if paged else 1,
            "max_num_tokens": 4096,
            **limits,
        },
        kv_layout="paged" if paged else "contiguous",
        plugin_config={"paged_kv_cache": paged, **(plugins or {})},
    )
    return EngineIdentity.model_validate(
        {
            "source": ModelSource(persistent_volume_claim=ClaimSource(claim_name="models")),
            "weights": weights,
            "build": build,
            "toolchain": Toolchain.model_validate({"backend": backend, "release": release, "image": f"engines:{release}"}),
            "accelerator": Accelerator(product=product, count=count),
        }
    )
