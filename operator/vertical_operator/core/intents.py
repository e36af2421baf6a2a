"""What a plan asks the shell to do: applies in order, deletes with preconditions, a status, and when to look again."""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from vertical_operator.api.v1alpha1.group import FIELD_MANAGER, Kind

Manifest: TypeAlias = dict[str, Any]
"""An API object as JSON."""


@dataclass(frozen=True)
class Ref:
    """One object; namespace is None for cluster-scoped kinds."""

    kind: Kind
    namespace: str | None
    name: str

    def __str__(self) -> str:
        return f"{self.kind.name} {self.name}"


@dataclass(frozen=True)
class Listing:
    """All objects of a kind with a label selector; namespace None: the whole cluster (nodes)."""

    kind: Kind
    namespace: str | None
    selector: str


@dataclass(frozen=True)
class Lookups:
    """What a plan wants to know of: objects to GET by name (404 is fine) and to LIST."""

    gets: tuple[Ref, ...] = ()
    lists: tuple[Listing, ...] = ()


@dataclass(frozen=True)
class Apply:
    """Server-side apply of the full intent, forced, under one field manager."""

    manifest: Manifest
    manager: str = FIELD_MANAGER


@dataclass(frozen=True)
class Delete:
    """Deletion in the background, only of this very object (and, where given, of this very version)."""

    ref: Ref
    uid: str
    resource_version: str | None = None


@dataclass(frozen=True)
class Plan:
    """`status` is the whole wanted status as JSON; None leaves it alone. `wake_after` in seconds; None: wait for events."""

    applies: tuple[Apply, ...] = ()
    deletes: tuple[Delete, ...] = ()
    status: Manifest | None = field(default=None)
    wake_after: float | None = None
