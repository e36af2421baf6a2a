"""Progress lines for people who follow `kubectl logs`: UTC time, seconds since the start, one sentence."""

import sys
import time
from collections.abc import Callable
from datetime import datetime, timezone

Say = Callable[[str], None]
"""Takes one line of progress."""


def progress() -> Say:
    """Lines on standard output, flushed one by one: a container's output is a pipe, which Python would hold back."""
    started = time.monotonic()

    def say(text: str) -> None:
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        sys.stdout.write(f"{now} +{time.monotonic() - started:6.1f}s  {text}\n")
        sys.stdout.flush()

    return say


def megabytes(size: int) -> str:
    """Decimal megabytes, as disks are sold: `98.4 MB`."""
    return f"{size / 1e6:.1f} MB"
