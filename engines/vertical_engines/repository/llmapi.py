"""The model behind an SLM on TensorRT-LLM's PyTorch backend: NVIDIA's llmapi model of the image, with the engine's model.yaml."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.repository.pbtxt import parse_config, print_config, refuse_placeholders

SOURCE = Path("/app/all_models/llmapi/tensorrt_llm")
"""Where NVIDIA's image keeps the model, since TensorRT-LLM 0.20."""

STORED = "model.yaml"
MEMORY_FRACTION = 0.9


def write_llmapi_model(name: str, version: int, *, repository: Path, parameters: Mapping[str, str], source: Path | None = None) -> None:
    """`parameters` are those of the SLM's own configuration. Raises Failure: BackendVersionMismatch, EngineCorrupt."""
    source = source or SOURCE
    folder, code = repository / name, source / "1"
    target = folder / str(version)
    target.mkdir(parents=True)
    try:
        text = (source / "config.pbtxt").read_text(encoding="utf-8")
        for path in sorted(code.glob("*.py")):
            shutil.copyfile(path, target / path.name)
    except FileNotFoundError:
        raise _missing(source) from None
    if not (target / "model.py").is_file():
        raise _missing(source)
    refuse_placeholders(text, where=f"{source}/config.pbtxt")
    config = parse_config(text, where=f"{source}/config.pbtxt")
    config.name = name
    (folder / "config.pbtxt").write_text(print_config(config), encoding="utf-8")
    (target / STORED).write_text(
        json.dumps(served_arguments(Path(parameters["engine_dir"]), parameters), indent=2) + "\n", encoding="utf-8"
    )


def served_arguments(engine: Path, parameters: Mapping[str, str]) -> dict[str, Any]:
    """The engine's arguments with what only serving decides: paths, prefix cache, and one answer a request."""
    try:
        stored: dict[str, Any] = json.loads((engine / STORED).read_text(encoding="utf-8"))
        model = engine / str(stored["model"])
    except (OSError, ValueError, KeyError) as error:
        raise Failure(
            Reason.ENGINE_CORRUPT, f"the engine has no usable {STORED}: {error}; delete the Engine to have it built again"
        ) from None
    cache: dict[str, Any] = {
        "enable_block_reuse": parameters.get("prefix_caching") == "true",
        "free_gpu_memory_fraction": MEMORY_FRACTION,
    }
    if host := parameters.get("prefix_host_memory_bytes"):
        cache["host_cache_size"] = int(host)
    return {**stored, "model": str(model), "kv_cache_config": cache, "triton_config": {"max_batch_size": 0, "decoupled": False}}


def _missing(source: Path) -> Failure:
    return Failure(
        Reason.BACKEND_VERSION_MISMATCH,
        f"this image has no llmapi model at {source}: it is no image of TensorRTLLMPyTorch; check toolchain.image",
    )
