"""`vertical-engines guard`: the sidecar with the settings of the operator's plan."""

import asyncio
from pathlib import Path

from vertical_engines.contract.serving import CANARY_NAME, GRPC_PORT, METRICS_PORT, PLAN_NAME, TRITON_HTTP_PORT, ServingPlan
from vertical_engines.failure import Failure
from vertical_engines.guard.settings import Settings
from vertical_engines.guard.sidecar import Addresses, run_sidecar
from vertical_engines.progress import progress
from vertical_engines.repository.plan_file import read_plan


def run_guard(*, config: Path, repository: Path, addresses: Addresses) -> int:
    """Until a signal ends it: 0, or 65 when the plan can't be read. `repository` holds the entry model's canary."""
    try:
        plan = read_plan(config / PLAN_NAME)
    except Failure as failure:
        progress()(f"{failure.reason.value}: {failure.message}")
        return failure.exit_code
    asyncio.run(run_sidecar(guard_settings(plan, repository=repository), addresses=addresses))
    return 0


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
