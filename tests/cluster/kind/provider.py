"""The provider `kind`: a one-node kind cluster in the machine's container engine, or in a private one where there is none."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cluster.errors import ClusterError
from tests.cluster.gotools import ensure_tools
from tests.cluster.kind.engine import Engine, installed_engine
from tests.cluster.kind.node_image import REFERENCE, node_image
from tests.cluster.kind.private_engine import PrivateEngine
from tests.cluster.locations import PROJECT, bin_folder, state_folder
from tests.cluster.native.forwarder import free_port
from tests.cluster.native.machine import return_sysctls
from tests.cluster.packages import NODE_COMMANDS, ensure_commands
from tests.cluster.processes import Process, start_detached
from tests.cluster.progress import step
from tests.cluster.provider import RECORD, ProviderName, container_engine
from tests.cluster.shell import output

_NODE_VOLUMES = "/var/local-path-provisioner"


class KindProvider:
    """One kind cluster, called `vertical-<name>` for kind."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.state = state_folder(name)
        self.kubeconfig = self.state / "kubeconfig"
        self.volumes = _NODE_VOLUMES
        self._kind_name = f"vertical-{name}"
        self._private = PrivateEngine(self.state / "engine", cgroup=f"vertical-{name}")

    def running(self) -> bool:
        engine = self._engine()
        return engine is not None and self.kubeconfig.exists() and self._kind_name in self._kind("get", "clusters").split()

    def up(self) -> None:
        if self.running():
            return
        ensure_tools(["kubectl", "kind"])
        self.down()
        self.state.mkdir(parents=True)
        (self.state / RECORD).write_text(ProviderName.KIND)
        try:
            self._create()
        except BaseException:
            self.down()
            raise

    def _create(self) -> None:
        if self._engine():
            self._create_cluster()
            return
        if os.geteuid() != 0:
            raise ClusterError("no container engine answers", remedy="start Docker or Podman, or run as root on Linux")
        ensure_commands(NODE_COMMANDS)
        archive = node_image()
        engine = self._private.start()
        with step("Load the node image into the private engine", usual=15):
            output([*engine.client, "load", "-i", archive])
        port = free_port()
        forwarder = [sys.executable, "-m", "tests.cluster.native.forwarder", str(self._private.pid()), str(port)]
        start_detached(forwarder, log=self.state / "forwarder.log", cwd=PROJECT).write(self.state / "forwarder.process")
        networking: dict[str, Any] = {"disableDefaultCNI": True, "ipFamily": "ipv4", "apiServerPort": port}
        configuration = {"kind": "Cluster", "apiVersion": "kind.x-k8s.io/v1alpha4", "networking": networking}
        (self.state / "kind.yaml").write_text(json.dumps(configuration))
        self._create_cluster("--image", REFERENCE, "--config", str(self.state / "kind.yaml"))

    def _create_cluster(self, *options: str) -> None:
        with step(f"Start kind cluster {self._kind_name}", usual=60):
            self._kind("create", "cluster", "--name", self._kind_name, "--kubeconfig", str(self.kubeconfig), "--wait", "180s", *options)

    def down(self) -> None:
        if not self.state.exists():
            return
        with step(f"Remove kind cluster {self._kind_name}"):
            for record in self.state.glob("*.process"):
                if process := Process.read(record):
                    process.end()
            if self._engine():
                self._kind("delete", "cluster", "--name", self._kind_name, "--kubeconfig", str(self.kubeconfig))
            self._private.stop()
            shutil.rmtree(self.state)
            return_sysctls()

    def load(self, archives: Sequence[Path]) -> None:
        for archive in archives:
            self._kind("load", "image-archive", str(archive.resolve()), "--name", self._kind_name)

    def images(self) -> set[str]:
        listed = output(self.on_node(["ctr", "-n", "k8s.io", "images", "list", "-q"]))
        return {line for line in listed.split() if not line.startswith("sha256:")}

    def inside(self, argv: Sequence[str]) -> list[str]:
        return [*self._client("exec", "-i", self._node, "nsenter", "--net=/proc/1/ns/net"), *argv]

    def on_node(self, argv: Sequence[str]) -> list[str]:
        return self._client("exec", "-i", self._node, *argv)

    @contextmanager
    def forward(self, address: str, port: int) -> Iterator[int]:
        """A pod's or Service's address, through `kubectl port-forward` to whatever has it."""
        kubectl = [str(bin_folder() / "kubectl"), "--kubeconfig", str(self.kubeconfig)]
        argv = [*kubectl, "port-forward", "-n", *self._owner(kubectl, address), f":{port}", "--address", "127.0.0.1"]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            assert process.stdout is not None
            line = process.stdout.readline()  # Forwarding from 127.0.0.1:43561 -> 8000
            try:
                if "Forwarding from" not in line:
                    raise ClusterError(f"port-forward to {address}:{port} failed: {line}")
                yield int(line.split("->")[0].rpartition(":")[2])
            finally:
                process.terminate()

    def _owner(self, kubectl: list[str], address: str) -> list[str]:
        for kind, path in (("service", "{.spec.clusterIP}"), ("pod", "{.status.podIP}")):
            lines = '{range .items[*]}{.metadata.namespace}{"\\t"}{.metadata.name}{"\\t"}' + path + '{"\\n"}{end}'
            for line in output([*kubectl, "get", kind, "-A", "-o", f"jsonpath={lines}"]).splitlines():
                namespace, name, found = line.split("\t")
                if found == address:
                    return [namespace, f"{kind}/{name}"]
        raise ClusterError(f"nothing in the cluster has the address {address}")

    @property
    def _node(self) -> str:
        return f"{self._kind_name}-control-plane"

    def _engine(self) -> Engine | None:
        """The private one when it runs, else the machine's own."""
        if private := self._private.engine():
            return private
        client = container_engine()
        return installed_engine(client) if client else None

    def _required_engine(self) -> Engine:
        engine = self._engine()
        if engine is None:
            raise ClusterError(f"cluster {self.name} is not up", remedy=f"python -m tests.cluster up --provider kind --name {self.name}")
        return engine

    def _client(self, *words: str) -> list[str]:
        return [*self._required_engine().client, *words]

    def _kind(self, *words: str) -> str:
        engine = self._required_engine()
        binary = shutil.which("kind") or str(ensure_tools(["kind"]) / "kind")
        return output([*engine.prefix, binary, *words], env=engine.environment, timeout=900)
