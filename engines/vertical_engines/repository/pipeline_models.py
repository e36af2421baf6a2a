"""The pipeline's part of the repository: which folders are models, and what has to be right about them."""

import json
from pathlib import Path

from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.serving import CANARY_NAME, ServingPlan
from vertical_engines.failure import Failure

CONFIG_FILE = "config.pbtxt"
PYTHON_FOLDER = "python"
SHADOWING = "triton_python_backend_utils"
"""A package of that name would hide Triton's own."""


def find_models(pipeline: Path, *, plan: ServingPlan) -> list[Path]:
    """Model folders of the pipeline image, sorted. Raises Failure PipelineInvalid that names what is there."""
    folders = sorted(
        entry for entry in _entries(pipeline) if entry.is_dir() and entry.name != PYTHON_FOLDER and not entry.name.startswith(".")
    )
    there = ", ".join(folder.name for folder in folders) or "no folder at all"
    for folder in folders:
        if folder.name == plan.model_name:
            raise _invalid(f"it has a model {folder.name}, the name of the SLM; rename it, or set spec.model.name")
        if not (folder / CONFIG_FILE).is_file():
            raise _invalid(f"{folder.name} has no {CONFIG_FILE}; it holds {_names(folder)}")
        if not any(version.is_dir() and version.name.isdecimal() and int(version.name) > 0 for version in folder.iterdir()):
            raise _invalid(f"{folder.name} has no version folder such as {folder.name}/1; it holds {_names(folder)}")
    if plan.entrypoint != plan.model_name and plan.entrypoint not in (folder.name for folder in folders):
        raise _invalid(f"it has no model {plan.entrypoint}, the entry point; there is {there}")
    if any((pipeline / PYTHON_FOLDER / name).exists() for name in (SHADOWING, f"{SHADOWING}.py")):
        raise _invalid(f"{PYTHON_FOLDER}/{SHADOWING} would hide Triton's own module of that name; remove it")
    check_canary(pipeline / plan.entrypoint / CANARY_NAME)
    return folders


def check_canary(path: Path) -> None:
    """The guard can only be right if its canary is a request: Failure PipelineInvalid otherwise. There may be none."""
    if not path.is_file():
        return
    try:
        canary = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise _invalid(f"{path.parent.name}/{path.name} is not JSON: {error}") from None
    if not isinstance(canary, dict) or not isinstance(canary.get("inputs"), list):
        raise _invalid(f"{path.parent.name}/{path.name} is no inference request: it needs a list of inputs")


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _names(folder: Path) -> str:
    return ", ".join(sorted(entry.name for entry in folder.iterdir())[:20]) or "nothing"


def _invalid(what: str) -> Failure:
    return Failure(Reason.PIPELINE_INVALID, f"pipeline image: {what}")
