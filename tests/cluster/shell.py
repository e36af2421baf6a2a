"""Runs programs of the machine: output is captured, and a failure shows the last lines and what to do."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.cluster.errors import ClusterError

_LAST_LINES = 25


def output(
    argv: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    timeout: float = 600,
    remedy: str = "",
) -> str:
    """Standard output of a program that must end with 0. `env` is added to ours; `timeout` in seconds.

    Raises ClusterError with the last lines of what it said.
    """
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(
            words, cwd=cwd, env={**os.environ, **(env or {})}, input=stdin, capture_output=True, text=True, timeout=timeout, check=False
        )
    except FileNotFoundError as missing:
        raise ClusterError(f"{words[0]} is not installed", remedy=remedy or f"install {words[0]}") from missing
    except subprocess.TimeoutExpired as late:
        raise ClusterError(f"{' '.join(words)} did not end within {timeout:.0f} s", remedy=remedy) from late
    if done.returncode:
        said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-_LAST_LINES:])
        raise ClusterError(f"{' '.join(words)} ended with {done.returncode}:\n{said}", remedy=remedy)
    return done.stdout


def succeeds(argv: Sequence[str | Path], *, timeout: float = 30) -> bool:
    """True when the program exists and ends with 0 in time."""
    try:
        return subprocess.run([str(word) for word in argv], capture_output=True, timeout=timeout, check=False).returncode == 0
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return False
