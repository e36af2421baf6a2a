"""Names, labels and owner references of children: the same input gives the same name, and no two children share one."""

import hashlib
from collections.abc import Sequence
from typing import Any

from vertical_engines.contract.engine import short_key
from vertical_operator.api.v1alpha1.group import (
    API_VERSION,
    ENGINE_LABEL,
    FIELD_MANAGER,
    MANAGED_BY_LABEL,
    PLACEMENT_LABEL,
    SERVICE_LABEL,
    VARIANT_LABEL,
)
from vertical_operator.api.v1alpha1.metadata import ObjectMeta

NAME_LIMIT = 63
"""Characters of a DNS label: Services and label values take no more."""


def child_name(*parts: str, limit: int = NAME_LIMIT) -> str:
    """Parts joined by '-'. Too long, or a part in the middle that holds '-' itself (a-b + c could be a + b-c): a hash ends it."""
    name = "-".join(parts)
    if len(name) <= limit and not any("-" in part for part in parts[1:-1]):
        return name
    mark = hashlib.sha256("/".join(parts).encode()).hexdigest()[:8]
    return f"{name[: limit - 9].rstrip('-.')}-{mark}"


def engine_name(key: str, *, store: str) -> str:
    """`engine-<short key>-<4 hex of the store>`: the same engine in two stores is two objects."""
    return f"engine-{short_key(key)}-{hashlib.sha256(store.encode()).hexdigest()[:4]}"


def claim_name(service: str) -> str:
    """The claim made from a volumeClaimTemplate."""
    return child_name(service, "engines")


def build_job_name(engine: str) -> str:
    return child_name(engine, "build")


def remove_job_name(engine: str) -> str:
    return child_name(engine, "remove")


def labels(*, service: str = "", variant: str = "", placement: str = "", engine: str = "") -> dict[str, str]:
    """Our labels and no others: a user's labels are never copied to children."""
    given = {SERVICE_LABEL: service, VARIANT_LABEL: variant, PLACEMENT_LABEL: placement, ENGINE_LABEL: engine}
    return {MANAGED_BY_LABEL: FIELD_MANAGER, **{key: value for key, value in given.items() if value}}


def selector(given: dict[str, str]) -> str:
    """Label selector text for exactly these values."""
    return ",".join(f"{key}={value}" for key, value in given.items())


def owner_reference(kind: str, metadata: ObjectMeta, *, controller: bool = True) -> dict[str, Any]:
    """Owner reference of a child. blockOwnerDeletion stays false: it needs rights on the owner, and deletion need not wait."""
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "name": metadata.name,
        "uid": metadata.uid,
        "controller": controller,
        "blockOwnerDeletion": False,
    }


def listed(names: Sequence[str], *, limit: int = 20) -> str:
    """Names for a message; a long list is cut and says so."""
    shown = ", ".join(names[:limit])
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown or "none"
