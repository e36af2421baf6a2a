"""Verdicts: what one look at a placement or a build came to. Well, waiting for something with a deadline, or stalled."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from vertical_engines.contract.reasons import Reason
from vertical_operator.api.v1alpha1.conditions import timestamp
from vertical_operator.api.v1alpha1.metadata import ObjectMeta
from vertical_operator.core.observed import ChildState
from vertical_operator.core.settings import OperatorSettings


@dataclass(frozen=True)
class Verdict:
    state: Literal["well", "waiting", "stalled"]
    reason: Reason
    message: str = ""
    wake_after: float | None = None
    """Seconds until time alone may change the verdict."""

    @property
    def well(self) -> bool:
        return self.state == "well"


def well(reason: Reason, message: str = "") -> Verdict:
    return Verdict("well", reason, message)


def waiting(reason: Reason, message: str, *, wake_after: float | None = None) -> Verdict:
    return Verdict("waiting", reason, message, wake_after)


def stalled(reason: Reason, message: str, *, wake_after: float | None = None) -> Verdict:
    return Verdict("stalled", reason, message, wake_after)


def until(deadline: datetime, *, now: datetime, wait: Verdict, reason: Reason) -> Verdict:
    """Waiting while there is time, stalled for `reason` after it. The message holds the deadline as a time, so that it stays the same."""
    if now >= deadline:
        return stalled(reason, f"{wait.message} (waited for until {timestamp(deadline)})", wake_after=wait.wake_after)
    left = (deadline - now).total_seconds() + 1
    message = f"{wait.message} (until {timestamp(deadline)} at most)"
    return waiting(wait.reason, message, wake_after=left if wait.wake_after is None else min(left, wait.wake_after))


def after(start: datetime | None, seconds: int, *, now: datetime) -> datetime:
    """A deadline; counted from now when the start is not known."""
    return (start or now) + timedelta(seconds=seconds)


def foreign(
    child: ChildState | None, *, what: str, kind: str, owner: ObjectMeta, settings: OperatorSettings, now: datetime
) -> Verdict | None:
    """An object with a child's name that `owner` does not control: never overwritten; one that goes or is a predecessor's is waited for."""
    if child is None or child.controller == owner.uid:
        return None
    found = f"{what} exists and is controlled by {child.controller_text}"
    # The garbage collector removes what an owner of the same name and another UID has left.
    if child.deleting or child.controller_text == f"{kind} {owner.name}":
        wait = waiting(Reason.NOT_OWNED, f"{found}, which is gone or going; its removal is waited for", wake_after=5)
        deadline = after(child.deleted_at or owner.creation_timestamp, settings.remove_deadline, now=now)
        return until(deadline, now=now, wait=wait, reason=Reason.NOT_OWNED)
    return stalled(Reason.NOT_OWNED, f"{found}: rename one of the two, or delete that one", wake_after=settings.patience)


def soonest(*times: float | None) -> float | None:
    """The earliest of the given times; None when none is given."""
    return min((time for time in times if time is not None), default=None)
