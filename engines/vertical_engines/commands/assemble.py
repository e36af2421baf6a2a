"""`vertical-engines assemble`: check the engine, fill the model repository, or say in the termination message why not."""

from pathlib import Path

from pydantic import ValidationError

from vertical_engines.commands.ending import leave_message
from vertical_engines.contract.build import EXIT_USER_ERROR, BuildOutcome
from vertical_engines.contract.engine import short_key
from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.serving import PLAN_NAME, ServingPlan
from vertical_engines.failure import Failure
from vertical_engines.progress import progress
from vertical_engines.repository.assembly import Places, assemble_repository
from vertical_engines.repository.engine_check import check_engine, visible_gpus


def run_assemble(*, places: Places, store: Path, termination_log: Path) -> int:
    """Exit code: 0, or 65 with a BuildOutcome failure in the termination message. Can be run again in the same pod."""
    say = progress()
    try:
        plan = read_plan(places.config / PLAN_NAME)
        manifest = check_engine(plan, store=store, seen_gpus=visible_gpus)
        say(f"engine {short_key(plan.engine_key)} stands in the store, built {manifest.built_at}")
        names = assemble_repository(plan, places=places)
    except Failure as failure:
        say(f"{failure.reason.value}: {failure.message}")
        leave_message(BuildOutcome(failure=failure.to_contract()), termination_log=termination_log, say=say)
        return EXIT_USER_ERROR
    say(f"{places.repository} holds {', '.join(names)}")
    return 0


def read_plan(path: Path) -> ServingPlan:
    """The operator's plan; Failure EngineRuntimeMismatch when this image and the operator are of different releases."""
    try:
        return ServingPlan.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Failure(Reason.ENGINE_RUNTIME_MISMATCH, f"the mounted configuration has no {path.name}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or path.name
        raise Failure(
            Reason.ENGINE_RUNTIME_MISMATCH, f"this image can't read the operator's plan: {where}: {first['msg']}; are both of one release?"
        ) from None
