"""The smallest merge patch (RFC 7386) that turns one status into another: pure."""

from collections.abc import Mapping
from typing import Any


def merge_patch(live: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Fields to change; None takes a field away. Empty when the two are equal. Lists are replaced as a whole."""
    patch: dict[str, Any] = {name: None for name in live if name not in wanted}
    for name, value in wanted.items():
        before = live.get(name)
        if name in live and isinstance(value, Mapping) and isinstance(before, Mapping):
            if inner := merge_patch(before, value):
                patch[name] = inner
        elif name not in live or before != value:
            patch[name] = value
    return patch
