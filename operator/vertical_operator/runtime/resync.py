"""Puts every object of ours into the queue: at a resync, and after a watch had to start over from a list."""

import asyncio
import random
from collections.abc import Collection

from vertical_operator.api.v1alpha1.group import ENGINE, VERTICAL_SERVICE
from vertical_operator.kube.failures import ClusterFailure
from vertical_operator.kube.port import Cluster
from vertical_operator.runtime.keys import Key
from vertical_operator.runtime.queue import WorkQueue

DEBOUNCE_SECONDS = 1.0
"""Several watches start over together when the API server restarts: one pass is enough for all of them."""
RETRY_SECONDS = 10.0


class Resync:
    """`ask` for a pass at any time; `run` makes one when asked, and one each interval."""

    def __init__(self, cluster: Cluster, queue: WorkQueue[Key], *, namespaces: Collection[str], interval: float) -> None:
        self._cluster, self._queue, self._interval = cluster, queue, interval
        self._namespaces: list[str | None] = list(namespaces) or [None]
        self._asked = asyncio.Event()

    def ask(self) -> None:
        """Make a pass soon."""
        self._asked.set()

    async def run(self) -> None:
        """Never returns; a list that fails is tried again."""
        wait = self._interval
        while True:
            try:
                async with asyncio.timeout(wait):
                    await self._asked.wait()
                await asyncio.sleep(DEBOUNCE_SECONDS)
                spread = 0.0
            except TimeoutError:
                # Nothing is known to be wrong: spread the load of the routine pass.
                spread = self._interval / 10
            self._asked.clear()
            try:
                await self.enqueue_all(spread=spread)
                wait = self._interval
            except ClusterFailure:
                wait = min(RETRY_SECONDS, self._interval)

    async def enqueue_all(self, *, spread: float = 0.0) -> int:
        """Queue every VerticalService and Engine, over so many seconds; returns how many. Raises the cluster's failures."""
        count = 0
        for kind in (VERTICAL_SERVICE.name, ENGINE.name):
            for namespace in self._namespaces:
                for body in await self._cluster.list_owned(kind, namespace=namespace, selector=""):
                    key = Key(kind, body["metadata"]["namespace"], body["metadata"]["name"])
                    if spread:
                        self._queue.add_after(key, random.uniform(0, spread))
                    else:
                        self._queue.add(key)
                    count += 1
        return count
