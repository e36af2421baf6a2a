"""How a transfer is doing: bytes, rate and remaining time from the size of what is on the disk, as one line."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from vertical_engines.progress import Say, megabytes

WINDOW = 30.0
"""Seconds over which the rate is taken."""


class Meter:
    """Rate over the last half minute: a transfer that stands still shows it."""

    def __init__(self, total: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._total, self._clock = total, clock
        self._seen: deque[tuple[float, int]] = deque(maxlen=1000)

    def line(self, done: int) -> str:
        """`done` in bytes."""
        now = self._clock()
        self._seen.append((now, done))
        while len(self._seen) > 2 and now - self._seen[0][0] > WINDOW:
            self._seen.popleft()
        start, before = self._seen[0]
        rate = max(0.0, (done - before) / (now - start)) if now > start else 0.0
        share = f"{100 * done // self._total} %, " if self._total else ""
        text = f"{megabytes(done)} of {megabytes(self._total)} ({share}{megabytes(int(rate))}/s"
        return text + (f", {_duration((self._total - done) / rate)} left)" if rate else ")")


def _duration(seconds: float) -> str:
    whole = int(seconds)
    return (
        f"{whole // 3600} h {whole % 3600 // 60} min"
        if whole >= 3600
        else f"{whole // 60} min {whole % 60} s"
        if whole >= 60
        else f"{whole} s"
    )


@contextmanager
def metered(folder: Path, *, total: int, say: Say, every: float = 5.0) -> Iterator[None]:
    """Say how full a folder is, now and then, until the body ends. The thread ends with it."""
    meter, over = Meter(total), threading.Event()

    def run() -> None:
        while not over.wait(every):
            say(f"fetching: {meter.line(min(held_bytes(folder), total))}")

    meter.line(held_bytes(folder))
    thread = threading.Thread(target=run, name="meter", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def held_bytes(folder: Path) -> int:
    found = 0
    for path in folder.rglob("*"):
        try:
            found += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:
            continue  # renamed under our eyes
    return found
