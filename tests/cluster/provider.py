"""What a provider of clusters can do, and which one to use: real Kubernetes either way."""

import os
import platform
import shutil
from collections.abc import Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from tests.cluster.errors import ClusterError
from tests.cluster.locations import state_folder
from tests.cluster.shell import succeeds


class ProviderName(StrEnum):
    NATIVE = "native"
    KIND = "kind"


class Provider(Protocol):
    """One named cluster. Each method raises ClusterError with what to do."""

    @property
    def kubeconfig(self) -> Path:
        """Works from this machine's own network."""

    @property
    def volumes(self) -> str:
        """Folder on the node for volumes."""

    def running(self) -> bool:
        """True when the cluster is up."""

    def up(self) -> None:
        """Start it and wait for a Ready node. Nothing to do when it runs."""

    def down(self) -> None:
        """Remove every trace. Nothing to do when there is none."""

    def load(self, archives: Sequence[Path]) -> None:
        """Import image archives (docker or OCI form) into the node."""

    def images(self) -> set[str]:
        """References that the node has, in full form (`docker.io/library/name:tag`)."""

    def inside(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs `argv` in the network of the node, where cluster addresses are reachable."""

    def on_node(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs `argv` with the node's files, processes and network."""

    def forward(self, address: str, port: int) -> AbstractContextManager[int]:
        """A port on 127.0.0.1 that leads to an address of the cluster (a Service's or a pod's)."""


def container_engine() -> str | None:
    """`docker` or `podman` when one is installed and its engine answers; a client without an engine does not count."""
    for client in ("docker", "podman"):
        if shutil.which(client) and succeeds([client, "info", "--format", "{{.}}"], timeout=10):
            return client
    return None


RECORD = "provider"
"""File in the state folder of a cluster: who started it."""


def choose(wanted: ProviderName | None, *, name: str) -> ProviderName:
    """The provider that started the cluster of that name; for a new one the wanted one, else kind where an engine answers, else native.

    Raises ClusterError where another than the wanted one started it, and where no cluster is possible on this machine.
    """
    record = state_folder(name) / RECORD
    if record.exists():
        started = ProviderName(record.read_text())
        if wanted not in (None, started):
            raise ClusterError(f"cluster {name} was started by provider {started}", remedy=f"python -m tests.cluster down --name {name}")
        return started
    chosen = wanted or (ProviderName.KIND if container_engine() else ProviderName.NATIVE)
    if chosen is ProviderName.NATIVE and (platform.system() != "Linux" or os.geteuid() != 0):
        raise ClusterError(
            f"no cluster can be started here: this is {platform.system()}, user {os.geteuid()}, and no container engine answers",
            remedy="start Docker or Podman, or run as root on Linux (Debian 12)",
        )
    return chosen
