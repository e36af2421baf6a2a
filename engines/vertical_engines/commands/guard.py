"""`vertical-engines guard`: the sidecar with the settings of the operator's plan."""

import asyncio
from pathlib import Path

from vertical_engines.commands.assemble import read_plan
from vertical_engines.contract.serving import CANARY_NAME, GRPC_PORT, METRICS_PORT, PLAN_NAME, TRITON_HTTP_PORT, ServingPlan
from vertical_engines.guard.settings import Settings
from vertical_engines.guard.sidecar import Addresses, run_sidecar


def run_guard(*, config: Path, repository: Path, addresses: Addresses) -> None:
    """Until a signal ends it. `config` holds the plan, `repository` the entry model's canary."""
    plan = read_plan(config / PLAN_NAME)
    asyncio.run(run_sidecar(guard_settings(plan, repository=repository), addresses=addresses))


def guard_settings(plan: ServingPlan, *, repository: Path) -> Settings:
    own = repository / plan.entrypoint / CANARY_NAME
    return Settings(
        entrypoint=plan.entrypoint,
        model=plan.model_name,
        canary=own.read_text(encoding="utf-8") if own.is_file() else None,
        triton_http_port=TRITON_HTTP_PORT,
        grpc_port=GRPC_PORT,
        metrics_port=METRICS_PORT,
        **plan.guard.model_dump(),
    )
