"""`vertical-engines assemble`: check the engine, fill the model repository, or say in the termination message why not."""

from pathlib import Path

from vertical_engines.commands.ending import leave_message
from vertical_engines.contract.build import EXIT_USER_ERROR, BuildOutcome
from vertical_engines.contract.engine import short_key
from vertical_engines.contract.serving import PLAN_NAME
from vertical_engines.failure import Failure
from vertical_engines.progress import progress
from vertical_engines.repository.assembly import Places, assemble_repository
from vertical_engines.repository.engine_check import check_engine, visible_gpus
from vertical_engines.repository.plan_file import read_plan


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
