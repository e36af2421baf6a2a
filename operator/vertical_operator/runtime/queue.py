"""The keyed work queue, with the semantics of client-go's: no key twice in it, no key worked on twice at once."""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

FIRST_DELAY = 0.2
"""Seconds before the first retry; each further failure of the same key doubles them."""
LONGEST_DELAY = 300.0
"""Seconds: no failure waits longer, so that a cured cause is noticed within five minutes."""
JITTER = 0.2
"""Share by which a delay is moved, so that keys that failed together do not come back together."""


class WorkQueue(Generic[K]):
    """Keys to be worked on, in order of arrival. Belongs to one event loop; nothing here blocks but `get`."""

    def __init__(self, *, jitter: Callable[[], float] = random.random) -> None:
        """`jitter` gives numbers in [0, 1): a test passes its own."""
        self._jitter = jitter
        self._ready: deque[K] = deque()
        self._since: dict[K, float] = {}
        self._working: set[K] = set()
        self._again: dict[K, float] = {}
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._failures: dict[K, int] = {}
        self._wake = asyncio.Event()

    def add(self, key: K) -> None:
        """Work on the key soon. Being worked on now, it comes again after that: what was seen may be older than this call."""
        now = asyncio.get_running_loop().time()
        if key in self._working:
            self._again.setdefault(key, now)
        elif key not in self._since:
            self._since[key] = now
            self._ready.append(key)
            self._wake.set()

    def add_after(self, key: K, seconds: float) -> None:
        """Add the key after so many seconds; of several such calls the earliest counts."""
        loop = asyncio.get_running_loop()
        due = loop.time() + max(seconds, 0.0)
        known = self._timers.get(key)
        if known is not None and known.when() <= due:
            return
        if known is not None:
            known.cancel()
        self._timers[key] = loop.call_at(due, self._due, key)

    async def get(self) -> K:
        """The next key. Its pending timer is dropped: whoever works on it decides anew when to come back."""
        while not self._ready:
            self._wake.clear()
            await self._wake.wait()
        key = self._ready.popleft()
        del self._since[key]
        self._working.add(key)
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()
        return key

    def done(self, key: K) -> None:
        """The work on a key has ended, well or not; it is queued again when it was added meanwhile."""
        self._working.discard(key)
        if (since := self._again.pop(key, None)) is not None and key not in self._since:
            self._since[key] = since
            self._ready.append(key)
            self._wake.set()

    def retry(self, key: K, *, at_least: float = 0.0) -> float:
        """Come back to a key that failed: exponential back-off, never sooner than `at_least` seconds. Returns the delay."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = min(FIRST_DELAY * 2.0 ** min(failures, 30), LONGEST_DELAY) * (1 - JITTER * self._jitter())
        delay = max(delay, min(at_least, LONGEST_DELAY))
        self.add_after(key, delay)
        return delay

    def succeeded(self, key: K) -> None:
        """Forget the failures of a key."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """How often the key failed in a row."""
        return self._failures.get(key, 0)

    @property
    def depth(self) -> int:
        """Keys that wait for a worker now."""
        return len(self._ready)

    @property
    def oldest_age(self) -> float:
        """Seconds that the longest waiting key has waited; 0 when none waits."""
        return asyncio.get_running_loop().time() - self._since[self._ready[0]] if self._ready else 0.0

    def _due(self, key: K) -> None:
        self._timers.pop(key, None)
        self.add(key)
