"""Which objects to look at again when something about an object was seen. Pure: labels and owner references only."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from vertical_operator.api.v1alpha1.group import ENGINE, ENGINE_LABEL, GROUP, SERVICE_LABEL, VERTICAL_SERVICE

OWN_KINDS = frozenset({VERTICAL_SERVICE.name, ENGINE.name})


class Key(NamedTuple):
    """One object that is reconciled."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.namespace}/{self.name}"


def keys_of(body: Mapping[str, Any]) -> set[Key]:
    """The object itself when it is one of ours, and everything that it belongs to by label or by owner reference.

    Both are used: a child that lost its labels is still found by its owner, a pod (owned by a ReplicaSet or a Job) by its labels.
    """
    metadata = body.get("metadata", {})
    namespace = metadata.get("namespace", "")
    labels = metadata.get("labels") or {}
    keys = set()
    if labels.get(SERVICE_LABEL):
        keys.add(Key(VERTICAL_SERVICE.name, namespace, labels[SERVICE_LABEL]))
    elif labels.get(ENGINE_LABEL):
        # Pods that serve an engine name it too, but only those that build or remove it say anything about it.
        keys.add(Key(ENGINE.name, namespace, labels[ENGINE_LABEL]))
    for owner in metadata.get("ownerReferences") or []:
        if owner.get("kind") in OWN_KINDS and str(owner.get("apiVersion", "")).startswith(f"{GROUP}/"):
            keys.add(Key(owner["kind"], namespace, owner["name"]))
    if body.get("kind") in OWN_KINDS and str(body.get("apiVersion", "")).startswith(f"{GROUP}/"):
        keys.add(Key(body["kind"], namespace, metadata["name"]))
    return keys
