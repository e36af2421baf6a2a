"""The provider `native`: starts and ends a cluster in namespaces of its own."""

import contextlib
import json
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from tests.cluster.errors import ClusterError
from tests.cluster.gotools import ensure_tools
from tests.cluster.locations import PROJECT, bin_folder, cache_folder, state_folder
from tests.cluster.native import addresses, configuration, machine
from tests.cluster.native.forwarder import forwarded, free_port
from tests.cluster.native.pki import write_pki
from tests.cluster.packages import NODE_COMMANDS, ensure_commands, runtime_folder, runtime_path
from tests.cluster.processes import Process, start_detached
from tests.cluster.progress import say, step
from tests.cluster.provider import RECORD, ProviderName
from tests.cluster.shell import output, succeeds
from tests.cluster.small_images import pause_image
from tests.cluster.unshared import start_unshared

_TOOLS = ("kubectl", "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "pause")
_START_DEADLINE = 120.0
"""Seconds until the node must be Ready; it takes about ten."""


class NativeProvider:
    """One native cluster; its whole state is the folder `state`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.state = state_folder(name)
        self.kubeconfig = self.state / "kubeconfig"
        self.volumes = addresses.VOLUMES
        self._cgroup = f"vertical-{name}"

    def running(self) -> bool:
        return all(
            (process := Process.read(self.state / part)) is not None and process.alive() for part in ("node.process", "forwarder.process")
        )

    def up(self) -> None:
        if self.running():
            return
        self._require_usable_cache()
        ensure_commands(NODE_COMMANDS)
        runtime_folder()
        ensure_tools(_TOOLS)
        pause = pause_image()
        self.down()
        try:
            with step(f"Start cluster {self.name}", usual=10):
                self._start(pause)
        except BaseException:
            self._keep_logs()
            self.down()
            raise

    def _start(self, pause: Path) -> None:
        port = free_port()
        for folder in ("log", "etc/cni", "lib"):
            (self.state / folder).mkdir(parents=True)
        (self.state / RECORD).write_text(ProviderName.NATIVE)
        write_pki(self.state / "pki", port=port, kubeconfig=self.kubeconfig)
        cni = runtime_folder() / "usr/lib/cni"
        for name, text in configuration.files(self.state, cni=cni, cgroup=f"/{self._cgroup}").items():
            (self.state / "etc" / name).write_text(text)
        (self.state / "daemons.json").write_text(json.dumps(configuration.daemons(port=port)))
        machine.borrow_sysctls()
        machine.make_cgroup(self._cgroup)
        node = self._unshare()
        forwarder = [sys.executable, "-m", "tests.cluster.native.forwarder", str(node.pid), str(port)]
        start_detached(forwarder, log=self.state / "log/forwarder.log", cwd=PROJECT).write(self.state / "forwarder.process")
        self._await("containerd", lambda: succeeds(self.on_node(["ctr", "version"])))
        self.load([pause])
        kubectl = [str(bin_folder() / "kubectl"), "--kubeconfig", str(self.kubeconfig)]
        self._await("the API server", lambda: succeeds([*kubectl, "get", "--raw", "/readyz"]))
        self._await("the node's registration", lambda: succeeds([*kubectl, "get", "node", addresses.NODE]))
        output([*kubectl, "wait", "--for=condition=Ready", f"node/{addresses.NODE}", f"--timeout={_START_DEADLINE:.0f}s"])

    def _unshare(self) -> Process:
        argv = [sys.executable, "-m", "tests.cluster.native.node", str(self.state)]
        node = start_unshared(argv, log=self.state / "log/node.log", path=f"{bin_folder()}:{runtime_path()}")
        node.write(self.state / "node.process")
        return node

    def _await(self, what: str, probe: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _START_DEADLINE
        while not probe():
            if not self._node().alive():
                raise ClusterError(f"pid 1 of the cluster ended: {(self.state / 'log/node.log').read_text()[-2000:]}")
            if time.monotonic() > deadline:
                raise ClusterError(f"gave up on {what} after {_START_DEADLINE:.0f} s", remedy=f"read the logs in {self._kept_logs()}")
            time.sleep(0.1)

    def down(self) -> None:
        if not self.state.exists():
            return
        with step(f"Remove cluster {self.name}"):
            for record in sorted(self.state.glob("*.process")):
                if process := Process.read(record):
                    process.end(at_once=record.name == "node.process")  # as pid 1 it does not hear SIGTERM
            machine.remove_cgroup(self._cgroup)
            shutil.rmtree(self.state)
            machine.return_sysctls()

    def load(self, archives: Sequence[Path]) -> None:
        for archive in archives:
            output(self.on_node(["ctr", "-n", "k8s.io", "images", "import", str(archive.resolve())]), timeout=600)

    def images(self) -> set[str]:
        listed = output(self.on_node(["ctr", "-n", "k8s.io", "images", "list", "-q"]))
        return {line for line in listed.split() if not line.startswith("sha256:")}

    def inside(self, argv: Sequence[str]) -> list[str]:
        return ["nsenter", "-t", str(self._node().pid), "-n", *argv]

    def on_node(self, argv: Sequence[str]) -> list[str]:
        path = f"{bin_folder()}:{runtime_path()}"
        return ["nsenter", "-t", str(self._node().pid), "-m", "-n", "-p", "env", f"PATH={path}", *argv]

    def forward(self, address: str, port: int) -> AbstractContextManager[int]:
        return forwarded(self._node().pid, address, port)

    def _node(self) -> Process:
        process = Process.read(self.state / "node.process")
        if process is None:
            raise ClusterError(f"cluster {self.name} is not up", remedy=f"python -m tests.cluster up --name {self.name}")
        return process

    def _require_usable_cache(self) -> None:
        hidden = [folder for folder in ("/run", "/var/lib") if cache_folder().resolve().is_relative_to(folder)]
        if hidden:
            raise ClusterError(f"the cache is under {hidden[0]}, which the node hides", remedy="set VERTICAL_CACHE to a folder elsewhere")

    def _kept_logs(self) -> Path:
        return cache_folder("logs") / self.name

    def _keep_logs(self) -> None:
        shutil.rmtree(self._kept_logs(), ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            shutil.copytree(self.state / "log", self._kept_logs(), symlinks=True)
            say(f"logs of the failed start: {self._kept_logs()}")
