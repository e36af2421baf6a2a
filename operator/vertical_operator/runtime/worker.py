"""Takes keys from the queue and reconciles them; decides when each comes back. The one place that catches every exception."""

import asyncio
import logging
import time

from vertical_operator.kube.failures import ClusterFailure, Conflict, Gone, Transient
from vertical_operator.runtime.controller import Controller
from vertical_operator.runtime.execute import ChildFailure
from vertical_operator.runtime.health import Vitals
from vertical_operator.runtime.keys import Key
from vertical_operator.runtime.metrics import Metrics
from vertical_operator.runtime.queue import WorkQueue

RECONCILE_SECONDS = 120.0
"""Longest reconcile: a few requests of ten seconds each; a worker must not hang."""

logger = logging.getLogger(__name__)


class Worker:
    """One of several loops over the same queue."""

    def __init__(self, queue: WorkQueue[Key], controller: Controller, *, metrics: Metrics, vitals: Vitals) -> None:
        self._queue, self._controller, self._metrics, self._vitals = queue, controller, metrics, vitals

    async def run(self) -> None:
        """Work for ever."""
        while True:
            await self.step()

    async def step(self) -> None:
        """Wait for one key and work on it. Never raises but for cancellation."""
        key = await self._queue.get()
        started = time.monotonic()
        try:
            result = await self._work(key)
        finally:
            self._queue.done(key)
        self._vitals.progressed_at = self._vitals.clock()
        self._metrics.reconciles.labels(key.kind, result).inc()
        self._metrics.reconcile_seconds.labels(key.kind).observe(time.monotonic() - started)

    async def _work(self, key: Key) -> str:
        try:
            async with asyncio.timeout(RECONCILE_SECONDS):
                wake_after = await self._controller.reconcile(key, failures=self._queue.failures(key))
        except Exception as error:
            return self._failed(key, error)
        self._queue.succeeded(key)
        if wake_after is not None:
            self._queue.add_after(key, wake_after)
        return "success"

    def _failed(self, key: Key, error: Exception) -> str:
        """Put the key back with its back-off; only what nobody foresaw gets a traceback."""
        failure = error.failure if isinstance(error, ChildFailure) else error
        at_least = failure.retry_after or 0.0 if isinstance(failure, Transient) else 0.0
        fields = {"key": str(key), "retry_in": round(self._queue.retry(key, at_least=at_least), 1)}
        if isinstance(failure, Conflict | Gone):
            # Usual: something was changed or deleted between our look and our write. The next look finds out.
            logger.debug("the object changed meanwhile", extra={"fields": fields | {"error": str(error)}})
            return "conflict"
        if isinstance(failure, ClusterFailure):
            logger.warning("the API server did not do it", extra={"fields": fields | {"error": str(error), "code": failure.code}})
            return "transient" if isinstance(failure, Transient) else "refused"
        if isinstance(failure, TimeoutError):
            logger.warning("a reconcile took too long", extra={"fields": fields})
            return "transient"
        logger.error("a reconcile failed in a way that nobody foresaw", exc_info=error, extra={"fields": fields})
        return "error"
