"""The port through which the operator sees a cluster: five methods, plain dictionaries in and out."""

from collections.abc import Mapping
from typing import Any, Protocol

Manifest = dict[str, Any]
"""A Kubernetes object as JSON: `apiVersion`, `kind`, `metadata` and the rest."""


class Cluster(Protocol):
    """Reads are live. Every method may raise the failures of `kube.failures`; none of them blocks for longer than its time-out."""

    async def get(self, kind: str, *, namespace: str | None, name: str) -> Manifest | None:
        """One object, or None when it does not exist."""

    async def list_owned(self, kind: str, *, namespace: str | None, selector: str) -> list[Manifest]:
        """Every object of a kind that a label selector (`a=b,c=d`; empty: all) matches; namespace None: of the whole cluster."""

    async def apply(self, manifest: Manifest, *, field_manager: str, force: bool = True) -> Manifest:
        """Server-side apply of the full intent of one field manager; returns the object as it is now."""

    async def delete(self, kind: str, *, namespace: str | None, name: str, uid: str, resource_version: str | None = None) -> None:
        """Delete that very object, in the background. Already gone is success; another uid or version is a Conflict."""

    async def patch_status(self, kind: str, *, namespace: str | None, name: str, status: Mapping[str, Any]) -> Manifest:
        """Merge patch of the status subresource; a field is removed by sending None for it. Raises Gone when there is no such object."""
