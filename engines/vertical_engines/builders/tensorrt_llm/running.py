"""Runs one step of a build: its lines passed on, its end translated."""

import os
from pathlib import Path

from vertical_engines.builders.child import run_child
from vertical_engines.builders.host import memory_limit
from vertical_engines.builders.tensorrt_llm.steps import Step
from vertical_engines.builders.translation import Circumstances, translate
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.progress import Say
from vertical_engines.store.failures import free_bytes

OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
"""A build uses what the model source holds; a name that looks like a hub's must not become a download."""


def run_step(
    step: Step, *, scratch: Path, folder: Path, source: str, say: Say, needed: int = 0, otherwise: Reason = Reason.BUILD_FAILED
) -> None:
    """`folder` is in the store, `scratch` is the working directory. Raises Failure."""
    environment = {**os.environ, **OFFLINE, "HOME": str(scratch), "HF_HOME": str(scratch / "hub"), "PYTHONUNBUFFERED": "1"}
    try:
        ended = run_child(list(step.command), say=say, doing=step.doing, cwd=scratch, env=environment)
    except FileNotFoundError as error:
        raise Failure(
            Reason.BACKEND_VERSION_MISMATCH,
            f"{step.doing}: this image has no {error.filename}: it is no TensorRT-LLM toolchain image; check toolchain.image",
        ) from None
    if ended.code:
        about = Circumstances(step.doing, source, needed=needed, free=free_bytes(folder), limit=memory_limit(), otherwise=otherwise)
        raise translate(ended, about)
