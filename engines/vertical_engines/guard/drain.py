"""The drain: wait until nobody uses this pod any more, so that its server can be ended without losing a request."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from vertical_engines.guard.settings import Settings

LOOK_EVERY = 0.2


@dataclass(frozen=True)
class Drained:
    """`seconds` it took; `left` connections were still in use when it had to end, 0 when all had gone."""

    seconds: float
    left: int


async def drain(settings: Settings, *, in_use: Callable[[], int], present: Callable[[], bool]) -> Drained:
    """Returns once nothing was in use for `quiet` seconds, after `lame` seconds at least and `drain_max` at most.

    The lame time is what the cluster needs to take the pod out of its endpoints. `in_use` counts connections of callers;
    with no server `present` there is nothing to wait for.
    """
    clock = asyncio.get_running_loop().time
    began = clock()
    quiet_since: float | None = None
    while present() and clock() - began < settings.drain_max:
        now = clock()
        busy = in_use()
        quiet_since = None if busy else (quiet_since or now)
        if quiet_since is not None and now - began >= settings.lame and now - quiet_since >= settings.quiet:
            break
        await asyncio.sleep(min(LOOK_EVERY, settings.quiet))
    return Drained(clock() - began, in_use() if present() else 0)
