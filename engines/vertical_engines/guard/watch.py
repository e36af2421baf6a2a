"""The watch over the server: sends canaries, looks for other signs of life when one is late, keeps the current health."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable

from vertical_engines.guard.health import (
    Health,
    after_absence,
    after_answer,
    after_error,
    after_objection,
    after_silence,
    drained,
)
from vertical_engines.guard.settings import Settings
from vertical_engines.guard.triton import Outcome

Send = Callable[[], Awaitable[Outcome]]
Count = Callable[[], Awaitable[int | None]]


class Refused(Exception):
    """The server is up and answers no canary well; the message holds its words."""


class Watch:
    """`send` gives the outcome of one canary, `count` the server's count of answered requests.

    One canary is out at a time, for the server works off abandoned ones as well. Only when one is out and nothing at all is
    answered any more, a second is sent: requests of a stub that has died are never answered, a new one fails at once.
    """

    def __init__(self, settings: Settings, *, send: Send, count: Count) -> None:
        self.health = Health()
        self._settings = settings
        self._send = send
        self._count = count
        self._out: dict[asyncio.Task[Outcome], float] = {}
        self._due = 0.0

    async def run(self) -> None:
        """Until cancelled. Raises Refused when waiting has no point any more."""
        try:
            while True:
                await self._turn()
        finally:
            for task in self._out:
                task.cancel()

    def start_drain(self) -> None:
        self._become(drained(self.health))

    async def _turn(self) -> None:
        now = _now()
        if self._may_send(now):
            self._out[asyncio.ensure_future(self._send())] = now
        wait = self._settings.canary_timeout if self._out else max(0.0, self._due - now)
        if not self._out:
            await asyncio.sleep(wait)
            return
        done, _ = await asyncio.wait(self._out, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            del self._out[task]
            await self._learn(task.result())
        if not done:
            await self._silence()

    def _may_send(self, now: float) -> bool:
        if now < self._due or len(self._out) > 1:
            return False
        return not self._out or self.health.lifeless_for(now) >= self._settings.canary_interval

    async def _learn(self, outcome: Outcome) -> None:
        now = _now()
        match outcome.kind:
            case "answered":
                self._become(after_answer(self.health, now=now))
            case "error":
                self._become(after_error(self.health, why=outcome.why))
            case "objection":
                self._become(after_objection(self.health, why=outcome.why))
            case "busy":
                await self._silence()
            case "absent":
                self._become(after_absence(self.health, why=outcome.why))
        if self.health.refused:
            raise Refused(self.health.why)
        # while draining every look counts: the gap between the old server and its successor must not be missed
        quick = not self.health.started or self.health.failures or self.health.draining
        self._due = now + (self._settings.retry_interval if quick else self._settings.canary_interval)

    async def _silence(self) -> None:
        successes = await self._count()
        self._become(after_silence(self.health, now=_now(), successes=successes, dead_after=self._settings.dead_after))

    def _become(self, health: Health) -> None:
        old, self.health = self.health, health
        if (old.phase, old.draining, old.failures) != (health.phase, health.draining, health.failures):
            line = {"event": "health", "phase": health.phase, "was": old.phase, "draining": health.draining, "why": health.why}
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()


def _now() -> float:
    return asyncio.get_running_loop().time()
