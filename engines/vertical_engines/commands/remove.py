"""The command `remove`: an engine and what is left of its builds go from the store; nothing there is fine too."""

from pathlib import Path

from vertical_engines.commands.ending import run_to_end
from vertical_engines.contract.engine import short_key
from vertical_engines.progress import progress
from vertical_engines.store.opening import open_store


def run_remove(*, key: str, store: Path, termination_log: Path) -> int:
    """Remove; returns the exit code. Only a failure leaves a termination message."""
    say = progress()

    def work() -> None:
        engines = open_store(store, say=say)
        with engines.hold(key):
            found = engines.remove(key)
        say(f"engine {short_key(key)} removed" if found else f"engine {short_key(key)} is not in the store: nothing to remove")

    return run_to_end(work, termination_log=termination_log, say=say)
