"""Runs native code in a process of its own: output passed on line by line, life signs in between, its end told as a value."""

import contextlib
import os
import re
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vertical_engines.contract.masking import kept_line
from vertical_engines.progress import Say, megabytes

TAIL_LINES = 20
LOG_LINES = 400
"""Lines in which known words are looked for: native code puts a stack of dozens of frames behind them."""

FRAME = re.compile(r"\s*\d+\s+0x[0-9a-f]{6,}\b")
LINE_LIMIT = 500
"""Characters of a line that are kept: native code can print whole graphs in one."""


@dataclass(frozen=True)
class Ended:
    """How a process ended: `code` as the shell counts, negative for a signal; `tail` its last lines without frames of a native stack,
    `log` more of them; `peak` bytes of memory seen."""

    code: int
    tail: tuple[str, ...]
    peak: int
    log: tuple[str, ...] = ()


def run_child(
    command: list[str], *, say: Say, doing: str, life_sign_seconds: float = 5.0, cwd: Path | None = None, env: dict[str, str] | None = None
) -> Ended:
    """Run a command to its end. It never outlives this call: whatever ends the call kills it, and the processes that it has started
    (builders of several GPUs start one for each). `env` replaces the environment."""
    log: deque[str] = deque(maxlen=LOG_LINES)
    started = time.monotonic()
    peak = 0
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=cwd, env=env, start_new_session=True
    )
    try:
        for line in _lines(process, every=life_sign_seconds):
            peak = max(peak, _memory(process.pid))
            if line is None:
                say(f"{doing}: {time.monotonic() - started:.0f} s so far, {megabytes(peak)} of memory")
            elif text := kept_line(line.decode(errors="replace"), limit=LINE_LIMIT):
                if not FRAME.match(text):
                    log.append(text)
                say(f"  {text}")
        return Ended(code=process.wait(), tail=tuple(log)[-TAIL_LINES:], peak=peak, log=tuple(log))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _lines(process: "subprocess.Popen[bytes]", *, every: float) -> Iterator[bytes | None]:
    """Lines as they come; None whenever none came for `every` seconds."""
    assert process.stdout is not None
    output = process.stdout.fileno()
    rest = b""
    with process.stdout, selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        while True:
            if not selector.select(timeout=every):
                yield None
                continue
            chunk = os.read(output, 65536)
            if not chunk:
                break
            *lines, rest = (rest + chunk).split(b"\n")
            yield from lines
            rest = rest[-65536:]
    if rest:
        yield rest


def _memory(pid: int) -> int:
    """Bytes resident at most so far; 0 when the process is gone or the system does not tell."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")), 0)
