"""A serving pod's road in small: plan and configuration as the operator renders them, assembled by the real command."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vertical_engines.commands.assemble import run_assemble
from vertical_engines.contract.engine import model_version
from vertical_engines.contract.manifest import Manifest
from vertical_engines.contract.serving import PLAN_NAME, ServingPlan, config_name
from vertical_engines.contract.triton_config import GENERATOR_INPUTS, GENERATOR_OUTPUTS, ModelConfig
from vertical_engines.repository.assembly import Places

MODEL = "generator"


def make_plan(manifest: Manifest, **changes: Any) -> ServingPlan:
    """A plan that fits an engine."""
    build = manifest.identity.build
    plan = ServingPlan(
        service="poi-matching",
        variant="background" if build.kv_layout == "paged" else "realtime",
        placement="cpu",
        engine_key=manifest.key,
        model_name=MODEL,
        model_version=model_version(manifest.key),
        entrypoint=MODEL,
        toolchain=manifest.identity.toolchain,
        build=build,
    )
    return plan.model_copy(update=changes)


def make_config(manifest: Manifest, *, store: Path, parameters: Mapping[str, str] | None = None) -> ModelConfig:
    """The SLM's configuration as the operator renders it; `parameters` replace single ones."""
    build = manifest.identity.build
    paged = build.kv_layout == "paged"
    rendered = {
        "engine_dir": str(store / manifest.key),
        "engine_key": manifest.key,
        "style": "inflight" if paged else "realtime",
        "max_live_requests": str(build.max_batch_size),
        "max_input_len": str(build.max_input_len),
        "max_output_len": str(build.max_output_len),
        "prefix_caching": "true" if paged else "false",
    }
    return ModelConfig(name=MODEL, inputs=GENERATOR_INPUTS, outputs=GENERATOR_OUTPUTS, parameters={**rendered, **(parameters or {})})


def make_places(folder: Path) -> Places:
    """Empty folders of a pod."""
    places = Places(config=folder / "config", pipeline=folder / "pipeline", repository=folder / "repository", python=folder / "python")
    for place in (places.config, places.pipeline, places.repository, places.python):
        place.mkdir(parents=True)
    return places


def assemble(plan: ServingPlan, config: ModelConfig, *, places: Places, store: Path) -> tuple[int, str]:
    """Exit code and termination message of the command."""
    (places.config / PLAN_NAME).write_text(plan.to_json())
    (places.config / config_name(plan.model_name)).write_text(config.to_pbtxt())
    log = places.config.parent / "termination-log"
    log.write_text("")
    return run_assemble(places=places, store=store, termination_log=log), log.read_text()
