"""What the guard knows about the server, as a value, and how each observation changes it. Pure: time comes in as a number."""

from dataclasses import dataclass, replace
from typing import Literal

Phase = Literal["starting", "up", "dead"]

REFUSALS = 10
"""So many bad answers in a row, and no good one ever: the canary or the model is wrong, not the moment."""

FAILURES_UNTIL_DEAD = 2
"""A dead stub answers every request with an error, for ever; one error alone may be an accident."""


@dataclass(frozen=True)
class Health:
    """`starting` counts as live: the kubelet sees for itself when the process ends, and a restarted guard must do no harm."""

    phase: Phase = "starting"
    why: str = "not looked yet"
    failures: int = 0
    refusals: int = 0
    """Bad answers in a row of a server that has given no good one yet."""
    last_life: float | None = None
    """When something was last seen to be answered, in seconds of the loop's clock."""
    successes: int | None = None
    """The server's own count of answered requests at that time."""
    draining: bool = False
    gone_since_drain: bool = False

    @property
    def started(self) -> bool:
        return self.phase == "up"

    @property
    def ready(self) -> bool:
        return self.phase == "up" and not self.draining

    @property
    def refused(self) -> bool:
        """No canary will ever be answered here: somebody has to correct the canary or the model."""
        return self.refusals >= REFUSALS

    @property
    def live(self) -> bool:
        return self.phase != "dead"

    def lifeless_for(self, now: float) -> float:
        """Seconds since the last sign of life, 0 before there was any."""
        return 0.0 if self.last_life is None else now - self.last_life


def after_answer(health: Health, *, now: float) -> Health:
    """A canary was answered. The first answer after the drained server has gone is a new server's, which is not draining."""
    draining = health.draining and not health.gone_since_drain
    return Health(phase="up", why="the canary is answered", last_life=now, draining=draining)


def after_error(health: Health, *, why: str) -> Health:
    """A canary came back with an error."""
    failures = health.failures + 1
    return replace(
        health, failures=failures, refusals=_refusals(health), why=why, phase="dead" if failures >= FAILURES_UNTIL_DEAD else health.phase
    )


def after_objection(health: Health, *, why: str) -> Health:
    """The model calls the canary itself wrong. Before the first answer a restart would not cure that, so it is no sign of death."""
    if health.phase == "starting":
        return replace(health, refusals=_refusals(health), why=why)
    return after_error(health, why=why)


def _refusals(health: Health) -> int:
    return health.refusals + 1 if health.phase == "starting" or health.refusals else 0


def after_silence(health: Health, *, now: float, successes: int | None, dead_after: float) -> Health:
    """A canary is late, or was turned away for too much work. Busy is not dead: it is dead when nothing at all was answered for so long."""
    seen = health.successes if successes is None else successes
    moved = health.last_life is None or (health.successes is not None and seen != health.successes)
    if moved:
        return replace(health, last_life=now, successes=seen)
    if health.lifeless_for(now) > dead_after:
        return replace(health, successes=seen, phase="dead", why=f"nothing was answered for {health.lifeless_for(now):.0f} s")
    return replace(health, successes=seen)


def after_absence(health: Health, *, why: str) -> Health:
    """Nobody listens, or the connection broke: the process has ended or is not up yet."""
    return Health(phase="starting", why=why, draining=health.draining, gone_since_drain=health.draining)


def drained(health: Health) -> Health:
    """Shutdown was asked for. A dead server has nothing to drain: it will be replaced in this same pod."""
    return replace(health, draining=True, gone_since_drain=False) if health.live else health
