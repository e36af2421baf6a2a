"""`model.yaml` of Triton's llmapi model: arguments of TensorRT-LLM's LLM class. Written as JSON, which is YAML too."""

import json
from pathlib import Path
from typing import Any

from vertical_engines.builders.tensorrt_llm.target import BuildTarget

MODEL_YAML = "model.yaml"
CHECKPOINT = "checkpoint"
"""Folder of the engine that holds the checkpoint; in the stored file the path is relative to the engine."""


def llm_arguments(target: BuildTarget, *, dtype: str) -> dict[str, Any]:
    """What the engine's identity decides. How it is served (prefix cache, Triton's own settings) is added when it is served."""
    build = target.identity.build
    return {
        "model": CHECKPOINT,
        "backend": "pytorch",
        "tensor_parallel_size": target.gpus,
        "pipeline_parallel_size": 1,
        "dtype": dtype,
        "trust_remote_code": False,
        "max_batch_size": build.max_batch_size,
        "max_beam_width": build.max_beam_width,
        "max_input_len": build.max_input_len,
        "max_seq_len": build.max_seq_len,
        **({"max_num_tokens": build.max_num_tokens} if build.max_num_tokens else {}),
    }


def write_model_yaml(arguments: dict[str, Any], folder: Path) -> None:
    (folder / MODEL_YAML).write_text(json.dumps(arguments, indent=2) + "\n", encoding="utf-8")
