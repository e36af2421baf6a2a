"""Honest progress: one line when a step starts to take time and one when it ends, each with elapsed seconds."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

console = Console(stderr=True, highlight=False, soft_wrap=True)
_started = time.monotonic()
_HEARTBEAT = 15.0
"""Seconds between lines of a step that goes on, where there is no terminal to animate."""


def say(text: str) -> None:
    """One line with the time since the command started."""
    console.print(f"[dim]\\[{time.monotonic() - _started:6.1f} s][/dim] {text}")


@contextmanager
def step(title: str, *, usual: float | None = None) -> Iterator[None]:
    """Show that something is going on and how long it took; `usual` is the time it takes on two cores, in seconds."""
    begun = time.monotonic()
    hint = f" (usually {usual:.0f} s)" if usual and usual >= 5 else ""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(_HEARTBEAT):
            say(f"… {title}: {time.monotonic() - begun:.0f} s{hint}")

    def live() -> None:
        with console.status(title) as status:
            while not ended.wait(0.5):
                status.update(f"{title}: {time.monotonic() - begun:.0f} s{hint}")

    ticker = threading.Thread(target=live if console.is_terminal else beat, daemon=True)
    ticker.start()
    mark = "[red]failed[/red]"
    try:
        yield
        mark = "[green]done[/green]"
    finally:
        ended.set()
        ticker.join()
        say(f"{title}: {mark} in {time.monotonic() - begun:.1f} s")
