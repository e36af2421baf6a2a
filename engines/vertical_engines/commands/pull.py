"""The command `pull`: an engine from a registry into a serving pod's own volume, where `assemble` finds it as in any other store."""

from pathlib import Path

from vertical_engines.commands.ending import run_to_end
from vertical_engines.contract.engine import short_key
from vertical_engines.progress import progress
from vertical_engines.store.opening import open_registry


def run_pull(*, key: str, reference: str, store: Path, termination_log: Path) -> int:
    """Pull; returns the exit code. Only a failure leaves a termination message."""
    say = progress()

    def work() -> None:
        manifest = open_registry(store, say=say).pull(reference, key=key, into=store)
        say(f"engine {short_key(key)} pulled, built {manifest.built_at}")

    return run_to_end(work, termination_log=termination_log, say=say)
