"""The command `serve`: a server as a child, its log passed on, and why it ended in the termination message.

The last lines of a Triton that could not load a model are a table of its options: the cause stands far above, out of the kubelet's reach.
"""

import contextlib
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from vertical_engines.commands.ending import leave_message
from vertical_engines.contract.build import BuildOutcome
from vertical_engines.contract.known_failures import explain
from vertical_engines.contract.masking import kept_line
from vertical_engines.failure import Failure
from vertical_engines.progress import Say, progress

TELLING = re.compile(r"^E\d{4} |\[ERROR\]|\[E\]|[Ee]rror|ERROR|Exception|[Aa]ssert|undefined symbol|cannot open|Killed")
KEPT = 60
"""Lines that tell of errors, the newest; an error brings a few that follow from it."""

SHOWN = 10
LIMIT = 1000
"""Characters of a line that are looked at: the cause comes first, then the stack."""

READ = 65536
POLL = 0.2
LAST_WORDS = 2.0
"""Seconds: how often a silent server is looked at, and how long what it has said at last is read."""


def run_serve(command: list[str], *, termination_log: Path) -> int:
    """Run a server until it ends and give its exit code, 128 and its number for a signal. SIGTERM and SIGINT are handed on."""
    say = progress()
    errors: deque[str] = deque(maxlen=KEPT)
    with _handing_on() as hand_to:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        hand_to(server)
        rest = b""
        for block in _output(server):
            sys.stdout.buffer.write(block)
            sys.stdout.buffer.flush()
            *lines, rest = (rest + block).split(b"\n")
            rest = rest[-READ:]
            errors.extend(text for line in lines if (text := _telling(line)))
        code = server.wait()
    if code:
        _leave_why(tuple(errors), code=code, termination_log=termination_log, say=say)
    return code if code >= 0 else 128 - code


def _output(server: "subprocess.Popen[bytes]") -> Iterator[bytes]:
    """Blocks of what there is, until the server has ended: a line without an end must not hold the log back, and processes that a
    crashed server leaves behind keep its output open, which must not hold the end back."""
    assert server.stdout is not None
    output = server.stdout.fileno()
    ended: float | None = None
    with server.stdout, selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        while ended is None or time.monotonic() < ended + LAST_WORDS:
            if selector.select(timeout=POLL):
                block = os.read(output, READ)
                if not block:
                    return
                yield block
            elif ended is not None:
                return
            if ended is None and server.poll() is not None:
                ended = time.monotonic()


def _telling(line: bytes) -> str | None:
    text = kept_line(line.decode(errors="replace"), limit=LIMIT)
    return text if TELLING.search(text) and not text.startswith(("|", "+")) else None


def _leave_why(errors: tuple[str, ...], *, code: int, termination_log: Path, say: Say) -> None:
    """Known words as an outcome, which stalls at once; others as they are: the operator shows them once it is a crash loop."""
    if known := explain(errors, ended=True):
        failure = Failure(known[0], f"the server ended with {code}: {known[1]}", log=tuple(line[:300] for line in errors[-SHOWN:]))
        say(f"{failure.reason.value}: {failure.message}")
        leave_message(BuildOutcome(failure=failure.to_contract()), termination_log=termination_log, say=say)
        return
    with contextlib.suppress(OSError):
        termination_log.write_text("\n".join(line[:300] for line in errors[-SHOWN:]), encoding="utf-8")


@contextlib.contextmanager
def _handing_on() -> Iterator[Callable[["subprocess.Popen[bytes]"], None]]:
    """Signals are caught before there is a server: the first process of a container would miss them otherwise."""
    servers: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def send(server: "subprocess.Popen[bytes]", number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            server.send_signal(number)

    def hand_on(number: int, frame: FrameType | None) -> None:
        early.append(number)
        for server in servers:
            send(server, number)

    def hand_to(server: "subprocess.Popen[bytes]") -> None:
        servers.append(server)
        for number in early:
            send(server, number)

    before = {number: signal.signal(number, hand_on) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield hand_to
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
