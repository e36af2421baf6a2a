"""Verdicts: what one look at a placement or a build came to. Well, waiting for something with a deadline, or stalled."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from vertical_engines.contract.reasons import Reason
from vertical_operator.api.v1alpha1.conditions import timestamp
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


def foreign(child: ChildState | None, *, what: str, owner: str, settings: OperatorSettings) -> Verdict | None:
    """An object with a child's name that is not controlled by `owner` (our UID): waited for while it goes, else never overwritten."""
    if child is None or child.controller == owner:
        return None
    found = f"{what} exists and is controlled by {child.controller_text}"
    if child.deleting:
        return waiting(Reason.NOT_OWNED, f"{found}; it is being deleted", wake_after=5)
    return stalled(Reason.NOT_OWNED, f"{found}: rename one of the two, or delete that one", wake_after=settings.patience)


def soonest(*times: float | None) -> float | None:
    """The earliest of the given times; None when none is given."""
    return min((time for time in times if time is not None), default=None)
