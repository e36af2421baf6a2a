"""Spares the owners of a shared engine each other's comings and goings: a thousand services may own one Engine.

Every owner applies its own reference, so each new owner changes the object. Only what an owner plans with matters to the others.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from vertical_operator.api.v1alpha1.group import ENGINE, VERTICAL_SERVICE
from vertical_operator.runtime.keys import Key, keys_of

Known = tuple[str, frozenset[Key]]
"""Digest of what owners depend on, and the owners."""


class Fanout:
    """Keys of an event, given what was seen of the same Engine before. Forgetting all of it costs a few needless looks."""

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}

    def keys(self, event_type: str | None, body: Mapping[str, Any]) -> set[Key]:
        """As `keys_of`; of a modified Engine that is the same to its owners, only owners that came or went."""
        keys = keys_of(body)
        if body.get("kind") != ENGINE.name:
            return keys
        uid = body["metadata"]["uid"]
        if event_type == "DELETED":
            self._known.pop(uid, None)
            return keys
        owners = frozenset(key for key in keys if key.kind == VERTICAL_SERVICE.name)
        before = self._known.get(uid)
        self._known[uid] = (_digest(body), owners)
        if event_type is None or before is None or before[0] != self._known[uid][0]:
            return keys
        return (keys - owners) | (owners ^ before[1])


def _digest(body: Mapping[str, Any]) -> str:
    metadata = body["metadata"]
    seen = [metadata.get("generation"), metadata.get("deletionTimestamp"), metadata.get("labels"), body.get("status")]
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()
