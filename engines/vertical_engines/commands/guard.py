"""`vertical-engines guard`: the sidecar with the settings of the operator's plan."""

import asyncio
from pathlib import Path

from vertical_engines.commands.ending import leave_message
from vertical_engines.contract.build import BuildOutcome
from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.serving import CANARY_NAME, GRPC_PORT, METRICS_PORT, PLAN_NAME, TRITON_HTTP_PORT, ServingPlan
from vertical_engines.failure import Failure
from vertical_engines.guard.settings import Settings
from vertical_engines.guard.sidecar import Addresses, run_sidecar
from vertical_engines.guard.watch import Refused
from vertical_engines.progress import progress
from vertical_engines.repository.plan_file import read_plan


def run_guard(*, config: Path, repository: Path, addresses: Addresses, termination_log: Path) -> int:
    """Until a signal ends it: 0, or 65 when the plan can't be read or the server refuses every canary; then the termination
    message says why, since a pod that does not become ready says nothing. `repository` holds the entry model's canary."""

    try:
        settings = guard_settings(read_plan(config / PLAN_NAME), repository=repository)
        try:
            asyncio.run(run_sidecar(settings, addresses=addresses))
        except Refused as refused:
            raise refusal(settings, words=str(refused)) from None
    except Failure as failure:
        progress()(f"{failure.reason.value}: {failure.message}")
        leave_message(BuildOutcome(failure=failure.to_contract()), termination_log=termination_log, say=progress())
        return failure.exit_code
    return 0


def refusal(settings: Settings, *, words: str) -> Failure:
    """What a server's words about the canary mean for people."""
    if settings.canary is None:
        return Failure(Reason.VERIFICATION_FAILED, f"model {settings.model} is loaded, but does not answer a prompt of one word: {words}")
    what = f"model {settings.entrypoint} is loaded, but does not answer its own {CANARY_NAME}: {words}"
    return Failure(Reason.PIPELINE_INVALID, f"{what}; correct the canary or the model in the pipeline image")


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
