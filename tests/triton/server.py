"""A real tritonserver process for tests: started from the wheel, on free ports, ended by its own process id."""

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

START_SECONDS = 90.0
STOP_SECONDS = 40.0


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on; all are held until all are known."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


def wheel_folder() -> Path:
    """Where the wheel keeps the server; its package is not imported, which would start threads."""
    spec = find_spec("pytriton")
    assert spec is not None, "nvidia-pytriton is not installed"
    assert spec.origin is not None
    return Path(spec.origin).parent / "tritonserver"


def make_backends(folder: Path) -> Path:
    """A backend directory with the python backend and the stub of this Python.

    All are links: the stub finds its libraries relative to its own place.
    """
    wheel, backend = wheel_folder(), folder / "backends" / "python"
    backend.mkdir(parents=True, exist_ok=True)
    stub = wheel / "python_backend_stubs" / f"{sys.version_info.major}.{sys.version_info.minor}" / "triton_python_backend_stub"
    parts = [path for path in (wheel / "backends" / "python").iterdir() if path.suffix in (".py", ".so")]
    for part in [*parts, stub]:
        link = backend / part.name
        if not link.is_symlink():
            link.symlink_to(part)
    return backend.parent


@dataclass
class TritonServer:
    """One server over one model repository. `folder` is its own: log, scratch and backends go there."""

    repository: Path
    folder: Path
    options: Sequence[str] = ()
    http: int = 0
    grpc: int = 0
    metrics: int = 0
    process: "subprocess.Popen[bytes] | None" = None
    shared_memory: str = field(default_factory=lambda: f"vertical_test_{secrets.token_hex(4)}_")

    def start(self) -> None:
        """Returns when every model is loaded; fails with the end of the log."""
        self.http, self.grpc, self.metrics = free_ports(3)
        scratch = self.folder / "tmp"
        scratch.mkdir(parents=True, exist_ok=True)
        wheel = wheel_folder()
        command = [
            str(wheel / "bin" / "tritonserver"),
            f"--model-repository={self.repository}",
            f"--backend-directory={make_backends(self.folder)}",
            f"--cache-directory={wheel / 'caches'}",
            f"--backend-config=python,shm-region-prefix-name={self.shared_memory}",
            "--backend-config=python,shm-default-byte-size=1048576",
            "--disable-auto-complete-config",
            "--http-address=127.0.0.1",
            "--grpc-address=127.0.0.1",
            "--metrics-address=127.0.0.1",
            f"--http-port={self.http}",
            f"--grpc-port={self.grpc}",
            f"--metrics-port={self.metrics}",
            "--exit-timeout-secs=20",
            *self.options,
        ]
        environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "TMPDIR": str(scratch)}
        with (self.folder / "triton.log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        deadline = time.monotonic() + START_SECONDS
        while self.get("/v2/health/ready")[0] != 200:
            assert self.process.poll() is None, f"tritonserver ended:\n{self.log_tail()}"
            assert time.monotonic() < deadline, f"tritonserver is not ready:\n{self.log_tail()}"
            time.sleep(0.05)

    def stop(self) -> int:
        """End it the gentle way, then the hard way; the exit code."""
        assert self.process
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_SECONDS)
        self.kill()
        return int(self.process.returncode)

    def kill(self) -> None:
        """End it at once, with its stubs, and remove the shared memory that it then leaves behind."""
        assert self.process
        if self.process.poll() is None:
            stubs = self.stubs()
            self.process.kill()
            for pid in stubs:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.process.wait()
        for region in Path("/dev/shm").glob(f"{self.shared_memory}*"):
            region.unlink(missing_ok=True)

    def stubs(self) -> list[int]:
        """Process ids of the python stubs of this server."""
        assert self.process
        return [pid for pid in _descendants(self.process.pid) if "triton_python_backend_stub" in _command(pid)]

    def log_tail(self) -> str:
        return "\n".join((self.folder / "triton.log").read_text(errors="replace").splitlines()[-40:])

    def get(self, path: str, *, port: int | None = None) -> tuple[int, str]:
        """Status and text; status 0 when nobody listens."""
        return http_call(f"http://127.0.0.1:{port or self.http}{path}")

    def metric(self, name: str, **labels: str) -> float:
        """A metric's value, summed over all label sets that match."""
        _, text = self.get("/metrics", port=self.metrics)
        rows = [line for line in text.splitlines() if line.startswith(name + "{")]
        return sum(float(row.rsplit(" ", 1)[1]) for row in rows if all(f'{key}="{value}"' in row for key, value in labels.items()))


def http_call(url: str, *, body: bytes | None = None, timeout: float = 60.0) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=body), timeout=timeout) as answer:
            return int(answer.status), answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def prompt_body(prompt: str, *, max_tokens: int | None = None, salt: int | None = None) -> bytes:
    """A KServe v2 request for the SLM."""
    inputs: list[dict[str, Any]] = [{"name": "prompt", "datatype": "BYTES", "shape": [1], "data": [prompt]}]
    if max_tokens is not None:
        inputs.append({"name": "max_tokens", "datatype": "INT32", "shape": [1], "data": [max_tokens]})
    if salt is not None:
        inputs.append({"name": "cache_salt", "datatype": "UINT64", "shape": [1], "data": [salt]})
    return json.dumps({"inputs": inputs}).encode()


def outputs_of(text: str) -> dict[str, Any]:
    """Name to value of a KServe v2 answer, single values unpacked."""
    outputs = json.loads(text)["outputs"]
    return {one["name"]: one["data"][0] if one["shape"] == [1] else one for one in outputs}


def _descendants(pid: int) -> Iterator[int]:
    parents: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            parent = next(line for line in status.read_text().splitlines() if line.startswith("PPid:"))
            parents.setdefault(int(parent.split()[1]), []).append(int(status.parent.name))
    waiting = [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        waiting += children
        yield from children


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""
