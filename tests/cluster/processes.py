"""Processes that outlive the command that started them: started apart, remembered by pid and start time, ended for good."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

_KILL_AFTER = 5.0
"""Seconds between SIGTERM and SIGKILL."""


@dataclass(frozen=True)
class Process:
    """A process for sure: a pid alone may have been given to another one since."""

    pid: int
    started: str
    """Clock ticks after boot, as /proc says."""

    def alive(self) -> bool:
        return start_time(self.pid) == self.started

    def end(self, *, at_once: bool = False) -> None:
        """SIGTERM, then SIGKILL; returns when it is gone."""
        patience = 0.0 if at_once else _KILL_AFTER
        deadline = time.monotonic() + patience
        sent: signal.Signals | None = None
        while self.alive():
            wanted = signal.SIGKILL if time.monotonic() >= deadline else signal.SIGTERM
            if wanted is not sent:
                os.kill(self.pid, wanted)
                sent = wanted
            time.sleep(0.02)

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: Path) -> "Process | None":
        try:
            return cls(**json.loads(path.read_text()))
        except FileNotFoundError:
            return None

    @classmethod
    def of(cls, pid: int) -> "Process":
        started = start_time(pid)
        if started is None:
            raise ProcessLookupError(pid)
        return cls(pid=pid, started=started)


def start_time(pid: int) -> str | None:
    """None when there is no such process, or it is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else fields[19]


def start_detached(argv: Sequence[str | Path], *, log: Path, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Process:
    """Start a program in a session of its own, with its output in `log`."""
    with log.open("ab") as sink:
        child = subprocess.Popen(
            [str(word) for word in argv],
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, **(env or {})},
            cwd=cwd,
        )
    return Process.of(child.pid)
