"""Waits for the world to be as wanted, with a deadline, and says what it was instead."""

import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")


def eventually(what: str, probe: Callable[[], Value | None], *, timeout: float = 60, every: float = 0.2) -> Value:
    """The first true value that `probe` returns, tried every `every` seconds.

    An AssertionError of the probe counts as "not yet"; at the deadline (seconds) TimeoutError says what was seen last.
    """
    deadline = time.monotonic() + timeout
    while True:
        try:
            seen = probe()
            if seen:
                return seen
            last = repr(seen)
        except AssertionError as not_yet:
            last = str(not_yet)
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {timeout:.0f} s; last seen: {last[:3000]}")
        time.sleep(every)
