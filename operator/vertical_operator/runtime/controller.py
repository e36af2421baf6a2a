"""One reconcile of one object: observe, plan, execute, report. It gets a key and asks the cluster for everything else."""

import itertools
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from vertical_operator.api.v1alpha1 import Engine, InvalidObject, VerticalService, parse
from vertical_operator.api.v1alpha1.group import FIELD_MANAGER
from vertical_operator.core import status as wording
from vertical_operator.core.intents import Lookups, Plan
from vertical_operator.core.lookups import engine_lookups, service_lookups
from vertical_operator.core.observed import ObservedEngine, ObservedService
from vertical_operator.core.plan import plan, plan_engine
from vertical_operator.core.settings import OperatorSettings
from vertical_operator.kube.drift import needs_apply
from vertical_operator.kube.failures import Conflict, Gone, Terminal
from vertical_operator.kube.merge_patch import merge_patch
from vertical_operator.kube.port import Cluster, Manifest
from vertical_operator.runtime.execute import ChildFailure, execute
from vertical_operator.runtime.keys import Key
from vertical_operator.runtime.observe import observe
from vertical_operator.runtime.transitions import Transition, transitions

LASTING_FAILURES = 5
"""A failure that came back so often (some six seconds) is no hiccup: it is shown in the status, although it is tried again."""

Report = Callable[[Manifest, Transition], None]
"""Told about each transition of an object, after it was written."""

Observe = Callable[[Key, Manifest | None], None]
"""Told the status of an object after each look at it; None: it is gone."""

Progress = Callable[[Key, str | None], Awaitable[str]]
"""The newest line of an Engine's fetch, from the pod at an address; None: there is none to ask."""

logger = logging.getLogger(__name__)


async def no_progress(key: Key, address: str | None) -> str:
    return ""


class Controller:
    """Reconciles both kinds. Of its memory between reconciles, a counter and the echoes of its own status writes, nothing matters."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        settings: OperatorSettings,
        clock: Callable[[], datetime],
        report: Report,
        observed: Observe = lambda _key, _status: None,
        progress: Progress = no_progress,
    ) -> None:
        self._progress = progress
        self._cluster, self._settings, self._clock, self._report, self._observed = cluster, settings, clock, report, observed
        self._ids = itertools.count(1)
        self._echoes: dict[Key, str] = {}

    async def reconcile(self, key: Key, *, failures: int = 0) -> float | None:
        """Bring one object closer to its spec. `failures` is how often it failed in a row before.

        Returns the seconds after which to come back, None to wait for events. Raises the failures of `kube.failures` and
        ChildFailure; the status is written first where a person should know.
        """
        raw = await self._cluster.get(key.kind, namespace=key.namespace, name=key.name)
        if raw is None:
            self._echoes.pop(key, None)
            await self._progress(key, None)
            self._observed(key, None)
            return None
        reconcile_id = next(self._ids)
        if key.kind == "VerticalService" and "deletionTimestamp" in raw["metadata"]:
            return None
        try:
            planned, live = await (self._plan_service(raw) if key.kind == "VerticalService" else self._plan_engine(raw))
        except InvalidObject as error:
            if "deletionTimestamp" in raw["metadata"]:
                await self._let_go(raw)
                return None
            await self._write_status(raw, wording.invalid(raw, text=str(error), now=self._clock()), reconcile_id=reconcile_id)
            return None
        writes = 0
        try:
            writes = await execute(planned, live=live, cluster=self._cluster)
        except ChildFailure as error:
            if _should_show(error, failures) and planned.status is not None:
                await self._write_status(raw, self._refused(raw, planned.status, error), reconcile_id=reconcile_id)
            raise
        if planned.status is not None:
            await self._write_status(raw, planned.status, reconcile_id=reconcile_id)
        if writes:
            logger.debug("children written", extra={"fields": {"key": str(key), "reconcile": reconcile_id, "writes": writes}})
        return planned.wake_after

    def is_echo(self, key: Key, *, resource_version: str) -> bool:
        """Whether that version of the object is what our own status write made: no reason to look at it again."""
        return self._echoes.get(key) == resource_version

    async def _plan_service(self, raw: Manifest) -> tuple[Plan, list[Manifest]]:
        service = parse(VerticalService, raw)
        live = await self._observe(service_lookups(service, self._settings))
        return plan(service, ObservedService.of(live), settings=self._settings, now=self._clock()), live

    async def _plan_engine(self, raw: Manifest) -> tuple[Plan, list[Manifest]]:
        engine = parse(Engine, raw)
        live = await self._observe(engine_lookups(engine))
        observed = ObservedEngine.of(live)
        key = Key(raw["kind"], engine.metadata.namespace, engine.metadata.name)
        observed = replace(observed, progress=await self._progress(key, observed.fetching_at))
        # The Engine itself belongs to what may be applied: its finalizer is.
        return plan_engine(engine, observed, settings=self._settings, now=self._clock()), [raw, *live]

    async def _observe(self, lookups: Lookups) -> list[Manifest]:
        return await observe(lookups, cluster=self._cluster)

    async def _let_go(self, raw: Manifest) -> None:
        """Take our finalizer off an object that is being deleted and can't be read: nobody could say what else to remove."""
        metadata = {name: raw["metadata"][name] for name in ("name", "namespace", "uid")}
        empty = {"apiVersion": raw["apiVersion"], "kind": raw["kind"], "metadata": metadata}
        if needs_apply(empty, raw, field_manager=FIELD_MANAGER):
            await self._cluster.apply(empty, field_manager=FIELD_MANAGER)

    def _refused(self, raw: Manifest, status: Manifest, error: ChildFailure) -> Manifest:
        words, generation = error.failure.message, raw["metadata"]["generation"]
        return wording.refused(status, what=error.what, text=words, generation=generation, now=self._clock(), live=raw.get("status"))

    async def _write_status(self, raw: Manifest, wanted: dict[str, Any], *, reconcile_id: int) -> None:
        before, metadata = raw.get("status") or {}, raw["metadata"]
        key = Key(raw["kind"], metadata["namespace"], metadata["name"])
        patch = merge_patch(before, wanted)
        if not patch:
            self._observed(key, before)
            return
        written = await self._cluster.patch_status(raw["kind"], namespace=metadata["namespace"], name=metadata["name"], status=patch)
        self._echoes[key] = written["metadata"]["resourceVersion"]
        self._observed(key, wanted)
        for transition in transitions(before, wanted):
            fields = {
                "key": str(key),
                "generation": metadata.get("generation"),
                "reconcile": reconcile_id,
                "condition": transition.type,
                "status": transition.status,
                "reason": transition.reason,
            }
            logger.info(transition.message or transition.reason, extra={"fields": fields})
            self._report(raw, transition)


def _should_show(error: ChildFailure, failures: int) -> bool:
    """Refused for good: at once. Anything else: when it lasts. A conflict is our own business."""
    if isinstance(error.failure, Conflict | Gone):
        return False
    return isinstance(error.failure, Terminal) or failures >= LASTING_FAILURES
