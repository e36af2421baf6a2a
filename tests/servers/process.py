"""Starts a real server for a test session and ends it by its process id."""

import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.waiting import eventually

END_SECONDS = 10


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as held:
        return int(held.getsockname()[1])


@contextmanager
def running(command: Sequence[str | Path], *, port: int, log: Path, environment: Mapping[str, str] | None = None) -> Iterator[None]:
    """A process that listens on a port of loopback until the block ends. Its output is in `log`, and in the error of a failed start."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=environment)

    def listens() -> bool | None:
        assert process.poll() is None, f"{command[0]} ended: {log.read_text(errors='replace')[-2000:]}"
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", port)) == 0 or None

    try:
        eventually(f"{Path(command[0]).name} listens", listens, timeout=30)
        yield
    finally:
        process.terminate()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
