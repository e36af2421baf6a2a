"""The provider `kind`: a one-node kind cluster in the machine's container engine."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.errors import ClusterError
from tests.cluster.gotools import ensure_tools
from tests.cluster.kind.engine import Engine, find_engine
from tests.cluster.locations import bin_folder, state_folder
from tests.cluster.processes import Process
from tests.cluster.progress import step
from tests.cluster.shell import output

_NODE_VOLUMES = "/var/local-path-provisioner"


class KindProvider:
    """One kind cluster, called `vertical-<name>` for kind."""

    def __init__(self, name: str, *, engine: Engine | None = None, node_image: str | None = None) -> None:
        self.name = name
        self.state = state_folder(name)
        self.kubeconfig = self.state / "kubeconfig"
        self.volumes = _NODE_VOLUMES
        self._kind_name = f"vertical-{name}"
        self._given_engine = engine
        self._node_image = node_image

    @property
    def _engine(self) -> Engine:
        return self._given_engine or find_engine()

    @property
    def _node(self) -> str:
        return f"{self._kind_name}-control-plane"

    def running(self) -> bool:
        return self.kubeconfig.exists() and self._kind_name in self._kind("get", "clusters").split()

    def up(self) -> None:
        if self.running():
            return
        ensure_tools(["kubectl"])
        self.down()
        self.state.mkdir(parents=True)
        words = ["create", "cluster", "--name", self._kind_name, "--kubeconfig", str(self.kubeconfig), "--wait", "180s"]
        words += ["--image", self._node_image] if self._node_image else []
        with step(f"Start kind cluster {self._kind_name}", usual=60):
            self._kind(*words, *self._engine.kind_options)

    def down(self) -> None:
        if not self.state.exists():
            return
        with step(f"Remove kind cluster {self._kind_name}"):
            for record in self.state.glob("*.process"):
                if process := Process.read(record):
                    process.end()
            self._kind("delete", "cluster", "--name", self._kind_name, "--kubeconfig", str(self.kubeconfig))
            shutil.rmtree(self.state)

    def load(self, archives: Sequence[Path]) -> None:
        for archive in archives:
            self._kind("load", "image-archive", str(archive.resolve()), "--name", self._kind_name)

    def images(self) -> set[str]:
        listed = output(self.on_node(["ctr", "-n", "k8s.io", "images", "list", "-q"]))
        return {line for line in listed.split() if not line.startswith("sha256:")}

    def inside(self, argv: Sequence[str]) -> list[str]:
        return [*self._engine.prefix, *argv]

    def on_node(self, argv: Sequence[str]) -> list[str]:
        return [*self._engine.command, "exec", "-i", self._node, *argv]

    @contextmanager
    def forward(self, address: str, port: int) -> Iterator[int]:
        """A pod's or Service's address, through `kubectl port-forward` to whatever has it."""
        argv = [*self._kubectl, "port-forward", "-n", *self._owner(address), f":{port}", "--address", "127.0.0.1"]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            assert process.stdout is not None
            line = process.stdout.readline()  # Forwarding from 127.0.0.1:43561 -> 8000
            try:
                if "Forwarding from" not in line:
                    raise ClusterError(f"port-forward to {address}:{port} failed: {line}")
                yield int(line.split("->")[0].rpartition(":")[2])
            finally:
                process.terminate()

    def _owner(self, address: str) -> list[str]:
        for kind, path in (("service", "{.spec.clusterIP}"), ("pod", "{.status.podIP}")):
            lines = '{range .items[*]}{.metadata.namespace}{"\\t"}{.metadata.name}{"\\t"}' + path + '{"\\n"}{end}'
            for line in output([*self._kubectl, "get", kind, "-A", "-o", f"jsonpath={lines}"]).splitlines():
                namespace, name, found = line.split("\t")
                if found == address:
                    return [namespace, f"{kind}/{name}"]
        raise ClusterError(f"nothing in the cluster has the address {address}")

    @property
    def _kubectl(self) -> list[str]:
        return [str(bin_folder() / "kubectl"), "--kubeconfig", str(self.kubeconfig)]

    def _kind(self, *words: str) -> str:
        binary = shutil.which("kind") or str(ensure_tools(["kind"]) / "kind")
        return output([*self._engine.prefix, binary, *words], env=self._engine.environment, timeout=900)
