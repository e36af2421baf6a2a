"""How a command ends: its outcome in the termination message, a last log line, an exit code; SIGTERM as an exception."""

import signal
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from vertical_engines.contract.build import EXIT_RETRYABLE, BuildFailure, BuildOutcome
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure, Interrupted
from vertical_engines.progress import Say


def _interrupt(number: int, frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)
    raise Interrupted


def run_to_end(work: Callable[[], BuildOutcome | None], *, termination_log: Path, say: Say) -> int:
    """Do the work and return the exit code. The outcome, good or bad, goes into the termination log."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        outcome, code = work(), 0
    except Failure as failure:
        say(f"{failure.reason.value}: {failure.message}")
        outcome, code = BuildOutcome(failure=failure.to_contract()), failure.exit_code
    except OSError as error:
        what = f"{error.strerror or error}: {error.filename or 'no file named'}"
        say(f"{Reason.BUILD_FAILED.value}: {what}")
        outcome, code = BuildOutcome(failure=BuildFailure(reason=Reason.BUILD_FAILED, message=what)), EXIT_RETRYABLE
    finally:
        signal.signal(signal.SIGTERM, before)
    if outcome:
        leave_message(outcome, termination_log=termination_log, say=say)
    return code


def leave_message(outcome: BuildOutcome, *, termination_log: Path, say: Say) -> None:
    """The file exists in a pod; elsewhere the log line is all there is."""
    try:
        termination_log.write_text(outcome.to_termination_message(), encoding="utf-8")
    except OSError as error:
        say(f"no termination message: {error.strerror}: {termination_log}")
