"""A Docker engine for kind on a machine that has none: Debian's dockerd, unpacked, in namespaces of its own, ended without a trace."""

import os
import shutil
import sys
import time
from pathlib import Path

from tests.cluster.errors import ClusterError
from tests.cluster.kind.engine import Engine
from tests.cluster.locations import PROJECT
from tests.cluster.native import machine
from tests.cluster.native.addresses import GATEWAY, NODE_ADDRESS
from tests.cluster.packages import RUNTIME_PACKAGES, unpacked
from tests.cluster.processes import Process
from tests.cluster.progress import step
from tests.cluster.shell import output, succeeds
from tests.cluster.unshared import start_unshared

_PACKAGES = (*RUNTIME_PACKAGES, "docker.io", "tini")
_START_DEADLINE = 60.0
_MODULES = Path("/lib/modules")
"""Docker makes it for kind's nodes where the kernel has no modules."""


class PrivateEngine:
    """One dockerd; its whole state is the folder `state`."""

    def __init__(self, state: Path, *, cgroup: str) -> None:
        self.state = state
        self._cgroup = cgroup
        self._socket = state / "docker.sock"

    def engine(self) -> Engine | None:
        """None when it does not run."""
        process = Process.read(self.state / "dockerd.process")
        if process is None or not process.alive():
            return None
        environment = {"DOCKER_HOST": f"unix://{self._socket}", "PATH": self._path(), "KIND_EXPERIMENTAL_PROVIDER": "docker"}
        client = (str(unpacked(_PACKAGES) / "usr/bin/docker"), "-H", f"unix://{self._socket}")
        return Engine(client=client, prefix=("nsenter", "-t", str(process.pid), "-n"), environment=environment)

    def pid(self) -> int:
        """Whose network has the published ports."""
        process = Process.read(self.state / "dockerd.process")
        if process is None:
            raise ClusterError("the private Docker engine does not run")
        return process.pid

    def start(self) -> Engine:
        """Start it and wait until it answers."""
        if engine := self.engine():
            return engine
        with step("Start a private Docker engine", usual=5):
            self.state.mkdir(parents=True, exist_ok=True)
            if not _MODULES.exists():
                (self.state / "made-modules-folder").touch()
            machine.borrow_sysctls()
            machine.make_cgroup(self._cgroup)
            argv = [sys.executable, "-m", "tests.cluster.kind.private_engine", str(self.state), self._cgroup]
            process = start_unshared(argv, log=self.state / "dockerd.log", path=self._path())
            process.write(self.state / "dockerd.process")
            engine = self.engine()
            deadline = time.monotonic() + _START_DEADLINE
            while engine is None or not succeeds([*engine.client, "version"]):
                if time.monotonic() > deadline or not process.alive():
                    log = (self.state / "dockerd.log").read_text()[-3000:]
                    raise ClusterError(f"dockerd did not start: {log}", remedy="run as root, or start Docker yourself")
                time.sleep(0.2)
            return engine

    def stop(self) -> None:
        """End it and remove all that it had."""
        if not self.state.exists():
            return
        if process := Process.read(self.state / "dockerd.process"):
            process.end(at_once=True)
        machine.remove_cgroup(self._cgroup)
        if (self.state / "made-modules-folder").exists() and _MODULES.is_dir() and not any(_MODULES.iterdir()):
            _MODULES.rmdir()
        shutil.rmtree(self.state)

    def _path(self) -> str:
        root = unpacked(_PACKAGES)
        return os.pathsep.join([str(root / "usr/bin"), str(root / "usr/sbin"), os.environ["PATH"], "/usr/sbin", "/sbin"])


def main(state: Path, cgroup: str) -> None:
    """Pid 1 inside the namespaces: a network of its own, then dockerd."""
    output(["mount", "--make-rshared", "/"])
    output(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run"])
    for words in (
        "link set lo up",
        "link add engine0 type veth peer name engine1",
        f"addr add {NODE_ADDRESS}/24 dev engine0",
        "link set engine0 up",
        "link set engine1 up",
        f"route add default via {GATEWAY} dev engine0",
    ):
        output(["ip", *words.split()])
    runtime = state / "runc"
    runc = unpacked(_PACKAGES) / "usr/sbin/runc"
    runtime.write_text(f'#!/bin/sh\nexec {sys.executable} {PROJECT}/tests/cluster/kind/trimmed_runc.py {runc} "$@"\n')
    runtime.chmod(0o755)
    argv = ["dockerd", "--data-root", str(state / "data"), "--exec-root", str(state / "exec"), "-p", str(state / "docker.pid")]
    argv += ["-H", f"unix://{state / 'docker.sock'}", "--add-runtime", f"trimmed={runtime}", "--default-runtime", "trimmed"]
    os.execvp("dockerd", [*argv, "--cgroup-parent", f"/{cgroup}"])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
