"""What changed between two statuses, as transitions that logs, metrics and Events report. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Transition:
    """One condition that has another status now, or another reason while it is abnormal."""

    type: str
    status: str
    reason: str
    message: str
    since: str
    """RFC 3339: the condition's lastTransitionTime."""
    previous: str | None
    """Status before; None on the first visit."""

    @property
    def is_worth_an_event(self) -> bool:
        """What people want to be told: it serves, it serves no more, it is stuck (or stuck for another reason), it is stuck no more."""
        if self.type == "Ready":
            return self.status == "True" or self.previous == "True"
        return self.type == "Stalled" and (self.status == "True" or self.previous == "True")

    @property
    def is_warning(self) -> bool:
        return (self.type == "Stalled") == (self.status == "True")


def transitions(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Transition]:
    """Conditions of `after` that differ from `before` in status, or in reason while Stalled."""
    old = {condition["type"]: condition for condition in before.get("conditions") or []}
    found = []
    for condition in after.get("conditions") or []:
        known = old.get(condition["type"])
        stuck_otherwise = (
            condition["type"] == "Stalled" and condition["status"] == "True" and known and known["reason"] != condition["reason"]
        )
        if known is None or known["status"] != condition["status"] or stuck_otherwise:
            found.append(
                Transition(
                    type=condition["type"],
                    status=condition["status"],
                    reason=condition["reason"],
                    message=condition.get("message", ""),
                    since=condition["lastTransitionTime"],
                    previous=known["status"] if known else None,
                )
            )
    return found
