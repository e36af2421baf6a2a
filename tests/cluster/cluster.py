"""A running cluster as tests and the demo see it: kubectl in typed form, waits with deadlines, ways in from this machine."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cluster.errors import ClusterError
from tests.cluster.gotools import ensure_tools
from tests.cluster.kind.provider import KindProvider
from tests.cluster.native.provider import NativeProvider
from tests.cluster.provider import Provider, ProviderName, choose
from tests.cluster.shell import output
from tests.cluster.waiting import eventually

Object = dict[str, Any]
FIELD_MANAGER = "tests"


class Cluster:
    """One named cluster of one provider. Nothing happens until a method is called."""

    def __init__(self, name: str, provider: Provider) -> None:
        self.name = name
        self.provider = provider

    @classmethod
    def named(cls, name: str = "vertical", *, provider: ProviderName | None = None) -> "Cluster":
        """The cluster of that name; `provider` defaults to kind where a container engine answers, else native."""
        makers: dict[ProviderName, Callable[[str], Provider]] = {ProviderName.NATIVE: NativeProvider, ProviderName.KIND: KindProvider}
        return cls(name, makers[choose(provider, name=name)](name))

    @property
    def kubeconfig(self) -> Path:
        return self.provider.kubeconfig

    @property
    def environment(self) -> dict[str, str]:
        """What a command needs to find this cluster and the binaries: KUBECONFIG and PATH."""
        return {"KUBECONFIG": str(self.kubeconfig), "PATH": f"{ensure_tools(['kubectl'])}:{os.environ['PATH']}"}

    def kubectl(self, *words: str, namespace: str | None = None, stdin: str | None = None, timeout: float = 120) -> str:
        """Output of kubectl. Raises ClusterError with what it said."""
        argv = [*self._kubectl(), *(["-n", namespace] if namespace else []), *words]
        return output(argv, stdin=stdin, timeout=timeout)

    def apply(self, what: Path | str | Object | Sequence[Object], *, namespace: str | None = None, manager: str = FIELD_MANAGER) -> str:
        """Server-side apply, forced, of a file, a text or objects. Raises ClusterError with the server's words when it is refused."""
        words = ["apply", "--server-side", "--force-conflicts", f"--field-manager={manager}", "-f", "-"]
        return self.kubectl(*words, namespace=namespace, stdin=_text(what))

    def refused(self, what: Path | str | Object | Sequence[Object], *, namespace: str | None = None) -> str:
        """What the server says when it refuses an apply. Raises AssertionError when it does not refuse."""
        try:
            accepted = self.apply(what, namespace=namespace)
        except ClusterError as refusal:
            return str(refusal)
        raise AssertionError(f"the server accepted it: {accepted}")

    def get(self, kind: str, name: str, *, namespace: str | None = None) -> Object | None:
        """The object, or None when there is none."""
        text = self.kubectl("get", kind, name, "-o", "json", "--ignore-not-found", namespace=namespace)
        found: Object | None = json.loads(text) if text.strip() else None
        return found

    def the(self, kind: str, name: str, *, namespace: str | None = None) -> Object:
        """The object that must be there. Raises AssertionError when it is not, which `eventually` takes as "not yet"."""
        found = self.get(kind, name, namespace=namespace)
        assert found, f"there is no {kind} {name} in {namespace or 'the cluster'}"
        return found

    def objects(self, kind: str, *, namespace: str | None = None, selector: str = "") -> list[Object]:
        """Objects of a kind; of all namespaces when none is given."""
        everywhere = [] if namespace else ["-A"]
        text = self.kubectl("get", kind, *everywhere, "-o", "json", *(["-l", selector] if selector else []), namespace=namespace)
        items: list[Object] = json.loads(text)["items"]
        return items

    def delete(self, kind: str, name: str, *, namespace: str | None = None, wait: bool = True, timeout: float = 120) -> None:
        """Delete an object, gone already or not; by default returns when it is gone."""
        words = ["delete", kind, name, "--ignore-not-found", f"--wait={str(wait).lower()}", f"--timeout={timeout:.0f}s"]
        self.kubectl(*words, namespace=namespace, timeout=timeout + 10)

    def wait(
        self, kind: str, name: str, condition: str = "Ready", *, status: str = "True", namespace: str | None = None, timeout: float = 120
    ) -> Object:
        """Wait until a condition has that status for the newest generation; the object as it was then."""

        def probe() -> Object:
            found = self.get(kind, name, namespace=namespace)
            assert found, f"there is no {kind} {name}"
            seen = {each["type"]: each for each in found.get("status", {}).get("conditions", [])}
            wanted = seen.get(condition, {})
            newest = wanted.get("observedGeneration", found["metadata"].get("generation")) == found["metadata"].get("generation")
            assert (wanted.get("status"), newest) == (status, True), json.dumps(found.get("status", {}).get("conditions"))
            return found

        return eventually(f"{kind} {name}: {condition}={status}", probe, timeout=timeout)

    def make_namespace(self, name: str, *, labels: Mapping[str, str] | None = None) -> None:
        """Make a namespace, there already or not; returns when pods can be made in it."""
        self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": dict(labels or {})}})
        self.await_account(name)

    def await_account(self, namespace: str) -> None:
        """Wait for the service account `default`: a controller makes it, and pods are refused before."""
        eventually(f"service account of {namespace}", lambda: self.get("serviceaccount", "default", namespace=namespace), every=0.1)

    def logs(self, pod: str, *, container: str | None = None, namespace: str | None = None, previous: bool = False) -> str:
        return self.kubectl(
            "logs", pod, *(["-c", container] if container else []), *(["--previous"] if previous else []), namespace=namespace
        )

    def exec(
        self, pod: str, argv: Sequence[str], *, container: str | None = None, namespace: str | None = None, timeout: float = 60
    ) -> str:
        words = ["exec", pod, *(["-c", container] if container else []), "--", *argv]
        return self.kubectl(*words, namespace=namespace, timeout=timeout)

    def run(self, argv: Sequence[str], *, timeout: float = 600) -> str:
        """Output of a command that runs in the cluster's network (Service and pod addresses are reachable), with KUBECONFIG set."""
        return output(self.provider.inside(list(argv)), env=self.environment, timeout=timeout)

    @contextmanager
    def forward(self, namespace: str, service: str, port: int) -> Iterator[str]:
        """`127.0.0.1:PORT` that leads to a Service's own address: through kube-proxy to any of its pods, connection by connection."""
        found = self.get("service", service, namespace=namespace)
        if not found:
            raise ClusterError(f"there is no Service {service} in {namespace}")
        with self.provider.forward(found["spec"]["clusterIP"], port) as local:
            yield f"127.0.0.1:{local}"

    @contextmanager
    def forward_pod(self, namespace: str, pod: str, port: int) -> Iterator[str]:
        """`127.0.0.1:PORT` that leads to one pod."""
        found = self.get("pod", pod, namespace=namespace)
        if not found or not found["status"].get("podIP"):
            raise ClusterError(f"pod {pod} in {namespace} has no address")
        with self.provider.forward(found["status"]["podIP"], port) as local:
            yield f"127.0.0.1:{local}"

    def helm(self, *words: str, stdin: str | None = None, timeout: float = 300) -> str:
        """Output of helm, built on first use."""
        binary = ensure_tools(["helm"]) / "helm"
        return output([binary, "--kubeconfig", self.kubeconfig, *words], stdin=stdin, timeout=timeout)

    def start(self, kind: str, *words: str, namespace: str) -> subprocess.Popen[str]:
        """kubectl in the background (`get --watch`, `logs -f`), with its output in a pipe; the caller ends it."""
        argv = [*self._kubectl(), "-n", namespace, kind, *words]
        return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def _kubectl(self) -> list[str]:
        return [str(ensure_tools(["kubectl"]) / "kubectl"), "--kubeconfig", str(self.kubeconfig)]


def _text(what: Path | str | Object | Sequence[Object]) -> str:
    if isinstance(what, Path):
        return what.read_text()
    if isinstance(what, str):
        return what
    items = [what] if isinstance(what, Mapping) else list(what)
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
