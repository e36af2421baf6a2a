"""Builds Kubernetes and friends from pinned Go modules, one binary at a time, and only those that are asked for.

A binary is moved into place when it is finished, with a stamp of what it was made from: a build that was cut off goes on
where it stopped, a changed pin builds again.
"""

import fcntl
import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.cluster.golang import TOOLCHAIN, go
from tests.cluster.locations import HERE, bin_folder
from tests.cluster.progress import step
from tests.cluster.shell import output


@dataclass(frozen=True)
class GoTool:
    """One binary: the module folder that pins it, its package, and the seconds that a cold build takes on two cores."""

    name: str
    module: str
    package: str
    usual: float


def _tools() -> dict[str, GoTool]:
    kubernetes = {
        "kubectl": 80,
        "kube-apiserver": 110,
        "kube-controller-manager": 50,
        "kube-scheduler": 5,
        "kubelet": 15,
        "kube-proxy": 7,
        "kubeadm": 40,
    }
    tools = [GoTool(name, "k8s", f"k8s.io/kubernetes/cmd/{name}", usual) for name, usual in kubernetes.items()]
    tools += [
        GoTool("etcd", "extras", "go.etcd.io/etcd/server/v3", 21),
        GoTool("helm", "extras", "helm.sh/helm/v3/cmd/helm", 54),
        GoTool("kwok", "extras", "sigs.k8s.io/kwok/cmd/kwok", 14),
        GoTool("kind", "extras", "sigs.k8s.io/kind", 6),
        GoTool("coredns", "extras", "github.com/coredns/coredns", 120),
        GoTool("local-path-provisioner", "local-path", "github.com/rancher/local-path-provisioner", 56),
        GoTool("pause", "pause", ".", 2),
        GoTool("versitygw", "s3", "github.com/versity/versitygw/cmd/versitygw", 106),
    ]
    return {tool.name: tool for tool in tools}


TOOLS = _tools()


def ensure_tools(names: Iterable[str]) -> Path:
    """Build what is missing or stale; returns the folder that holds the binaries. Two commands at once build each binary once."""
    folder = bin_folder()
    for tool in (TOOLS[name] for name in names):
        if not fresh(tool, folder=folder):
            with (folder / ".lock").open("w") as lock, step(f"Compile {tool.name}", usual=tool.usual):
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not fresh(tool, folder=folder):
                    _build(tool, folder=folder)
    return folder


def fresh(tool: GoTool, *, folder: Path) -> bool:
    stamp = folder / f".{tool.name}.stamp"
    return (folder / tool.name).exists() and stamp.exists() and stamp.read_text() == fingerprint(tool)


@cache
def fingerprint(tool: GoTool) -> str:
    """sha256 of everything that the project says about the binary: pins, sources, flags."""
    content = hashlib.sha256(" ".join([TOOLCHAIN, tool.package, *_flags(tool)]).encode())
    for path in sorted(module_folder(tool).iterdir()):
        content.update(path.name.encode() + path.read_bytes())
    return content.hexdigest()


def module_folder(tool: GoTool) -> Path:
    return HERE / "tools" / tool.module


def pinned_version(module: str, *, folder: str) -> str:
    """Version of a module that a tools folder requires, for example `v1.34.4` of k8s.io/kubernetes."""
    text = (HERE / "tools" / folder / "go.mod").read_text()
    found = re.search(rf"^\s*(?:require )?{re.escape(module)} (v\S+)", text, re.MULTILINE)
    if found is None:
        raise LookupError(f"{module} is not required by tools/{folder}/go.mod")
    return found[1]


def kubernetes_version() -> str:
    return pinned_version("k8s.io/kubernetes", folder="k8s")


def _flags(tool: GoTool) -> list[str]:
    link = "-s -w"
    if tool.module == "k8s":
        version = kubernetes_version()
        major, minor = version.removeprefix("v").split(".")[:2]
        base = "k8s.io/component-base/version"
        link += f" -X {base}.gitVersion={version} -X {base}.gitMajor={major} -X {base}.gitMinor={minor}"
        link += f" -X k8s.io/client-go/pkg/version.gitVersion={version}"
    return ["-trimpath", "-ldflags", link]


def _build(tool: GoTool, *, folder: Path) -> None:
    partial = folder / f".{tool.name}.{os.getpid()}.partial"
    output(
        [go(), "build", *_flags(tool), "-o", partial, tool.package],
        cwd=module_folder(tool),
        env={"CGO_ENABLED": "0", "GOTOOLCHAIN": TOOLCHAIN, "GOFLAGS": "-mod=readonly"},
        timeout=3600,
        remedy="the Go module proxy must be reachable (see `go env GOPROXY`); what is built already is kept: run the command again",
    )
    partial.replace(folder / tool.name)
    (folder / f".{tool.name}.stamp").write_text(fingerprint(tool))
