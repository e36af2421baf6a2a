"""Events for people: one per transition that is worth it, sent in the background, bounded in number, never in the way of a reconcile."""

import asyncio
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from vertical_operator.api.v1alpha1.group import FIELD_MANAGER, GROUP
from vertical_operator.kube.failures import ClusterFailure, Gone
from vertical_operator.kube.kinds import EVENT
from vertical_operator.kube.port import Manifest
from vertical_operator.runtime.transitions import Transition

WAITING_LIMIT = 200
"""Events that wait to be sent; more are dropped, since conditions and logs say the same."""
BURST = 10
REFILL_SECONDS = 60.0
"""An object may have so many Events at once, and one more each minute: a flapping one must not flood etcd."""
REMEMBERED_OBJECTS = 2000
NOTE_LIMIT = 1024
"""Bytes: the API server refuses an Event with more, although it calls them characters."""

logger = logging.getLogger(__name__)

Send = Callable[[Manifest], Awaitable[object]]
"""Applies one Event: its name is derived from its content, so sending it twice makes one Event."""


class EventRecorder:
    """`record` never waits and never fails; `run` sends, for ever."""

    def __init__(self, send: Send, *, instance: str, clock: Callable[[], float]) -> None:
        self._send, self._instance, self._clock = send, instance, clock
        self._waiting: asyncio.Queue[Manifest] = asyncio.Queue(WAITING_LIMIT)
        self._budgets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def record(self, about: Mapping[str, Any], transition: Transition) -> bool:
        """Queue the Event of a transition of an object. False when it was not worth one, or there were too many."""
        if not transition.is_worth_an_event or not self._afford(about["metadata"]["uid"]):
            return False
        try:
            self._waiting.put_nowait(event_of(about, transition, instance=self._instance))
        except asyncio.QueueFull:
            return False
        return True

    async def run(self) -> None:
        """Send what was recorded. Never returns."""
        while True:
            event = await self._waiting.get()
            try:
                await self._send(event)
            except Gone:
                # The namespace is on its way out, and its Events with it.
                continue
            except ClusterFailure as failure:
                logger.warning("an Event was not written", extra={"fields": {"event": event["metadata"]["name"], "error": failure.message}})
            finally:
                self._waiting.task_done()

    async def sent(self) -> None:
        """Wait until everything recorded so far was sent or given up."""
        await self._waiting.join()

    def _afford(self, uid: str) -> bool:
        now = self._clock()
        tokens, at = self._budgets.pop(uid, (float(BURST), now))
        tokens = min(tokens + (now - at) / REFILL_SECONDS, float(BURST))
        self._budgets[uid] = (tokens - 1 if tokens >= 1 else tokens, now)
        while len(self._budgets) > REMEMBERED_OBJECTS:
            self._budgets.popitem(last=False)
        return tokens >= 1


def event_of(about: Mapping[str, Any], transition: Transition, *, instance: str) -> Manifest:
    """An events.k8s.io/v1 Event. Name and time follow from the transition alone: a repeated pass gives the same object."""
    metadata = about["metadata"]
    content = "\n".join((metadata["uid"], transition.type, transition.status, transition.reason, transition.since))
    note = transition.message or f"{transition.type} is {transition.status}"
    return {
        "apiVersion": EVENT.api_version,
        "kind": EVENT.name,
        "metadata": {"name": f"{metadata['name']}.{hashlib.sha256(content.encode()).hexdigest()[:12]}", "namespace": metadata["namespace"]},
        "eventTime": transition.since.removesuffix("Z") + ".000000Z",
        "reportingController": f"{GROUP}/{FIELD_MANAGER}",
        "reportingInstance": instance,
        "action": "Reconcile",
        "type": "Warning" if transition.is_warning else "Normal",
        "reason": transition.reason,
        "note": _note(note),
        "regarding": {
            "apiVersion": about["apiVersion"],
            "kind": about["kind"],
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
        },
    }


def _note(text: str) -> str:
    content = text.encode()
    return text if len(content) <= NOTE_LIMIT else content[: NOTE_LIMIT - len("…".encode())].decode(errors="ignore") + "…"
