"""The operator process: what runs beside what, in which order, and how it ends. Any part that ends unexpectedly ends the process."""

import asyncio
import logging
import signal
from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from vertical_operator.api.v1alpha1.group import ENGINE, FIELD_MANAGER, VERTICAL_SERVICE
from vertical_operator.core.settings import OperatorSettings
from vertical_operator.kube.client import ApiServer, connect
from vertical_operator.kube.failures import ClusterFailure, Gone, Terminal
from vertical_operator.kube.lease import Lease, LeaseLost, ServerLease
from vertical_operator.kube.port import Manifest
from vertical_operator.runtime.build_progress import BuildProgress
from vertical_operator.runtime.controller import Controller
from vertical_operator.runtime.events import EventRecorder
from vertical_operator.runtime.fanout import Fanout
from vertical_operator.runtime.health import Vitals, beat, http_application, serve_http
from vertical_operator.runtime.keys import Key
from vertical_operator.runtime.metrics import Metrics
from vertical_operator.runtime.queue import WorkQueue
from vertical_operator.runtime.resync import Resync
from vertical_operator.runtime.settings import RuntimeSettings
from vertical_operator.runtime.toolchains import read_toolchains
from vertical_operator.runtime.transitions import Transition
from vertical_operator.runtime.watch import watch, watch_registry
from vertical_operator.runtime.worker import Worker

WAIT_FOR_KINDS_SECONDS = 2.0
LET_GO_SECONDS = 3.0
CHILD_SECONDS = 0.1
"""How long changes of children are gathered before their owner is looked at. Changes of the owner itself wait for nothing."""

logger = logging.getLogger(__name__)


class Stopped(Exception):
    """The watches ended because they were asked to: the clean end of the task group."""


async def run(settings: RuntimeSettings) -> int:
    """Run until SIGTERM or SIGINT (returns 0) or until a part fails (returns 1, the reason is in the log).

    Raises NoAccess, and BadToolchains for a file of additions that can't be used.
    """
    core = OperatorSettings(
        registry=settings.image_registry,
        toolchain_images=settings.toolchain_images,
        matrix=read_toolchains(settings.toolchains_file),
        hub_endpoint=settings.hub_endpoint,
        model_proxy=settings.model_proxy,
        model_no_proxy=settings.model_no_proxy,
        offline=settings.offline,
    )
    stop = asyncio.Event()
    _stop_on_signals(stop)
    metrics = Metrics()
    code = 0
    async with await connect(kubeconfig=settings.kubeconfig, count=metrics.count_request) as server:
        operator = Operator(settings, core=core, server=server, metrics=metrics, stop=stop)
        try:
            async with serve_http(http_application(operator.vitals, metrics=metrics), host=settings.http_host, port=settings.http_port):
                await operator.run()
        except* Stopped:
            logger.info("stopped as asked")
        except* (LeaseLost, ClusterFailure, OSError) as group:
            for error in group.exceptions:
                logger.error("the operator ends: %s", error)
            code = 1
    return code


class Operator:
    """The parts of one process and their wiring."""

    def __init__(
        self, settings: RuntimeSettings, *, core: OperatorSettings, server: ApiServer, metrics: Metrics, stop: asyncio.Event
    ) -> None:
        self._settings, self._server, self._metrics, self._stop = settings, server, metrics, stop
        self._queue: WorkQueue[Key] = WorkQueue()
        self._fanout = Fanout()
        clock = asyncio.get_running_loop().time
        self.vitals = Vitals(clock=clock, waiting=lambda: self._queue.depth, progressed_at=clock())
        self._recorder = EventRecorder(self._send_event, instance=settings.pod, clock=clock)
        self._controller = Controller(
            server,
            settings=core,
            clock=lambda: datetime.now(UTC),
            report=self._report,
            observed=metrics.observe_conditions,
            progress=BuildProgress(clock=clock).line,
        )
        self._resync = Resync(server, self._queue, namespaces=settings.watch_namespaces, interval=settings.resync_seconds)

    async def run(self) -> None:
        """Stand by, then lead. Ends only by an exception: Stopped after a signal, LeaseLost, or what broke."""
        store = ServerLease(self._server, namespace=self._settings.namespace, name=self._settings.lease_name)
        lease = Lease(store, identity=self._settings.pod)
        async with asyncio.TaskGroup() as group:
            group.create_task(beat(self.vitals, metrics=self._metrics, measure=self._measure))
            group.create_task(self._stop_when_asked())
            await self._wait_for_kinds()
            self.vitals.ready = True
            logger.info("standing by for the lease", extra={"fields": {"pod": self._settings.pod}})
            await lease.acquire()
            # Everything is started before the watches: kopf takes tasks that come later for its own. It also takes the signals;
            # the task that waits for them stays, for one that came in the moment before.
            workers = (self._worker().run() for _ in range(self._settings.workers))
            parts = [group.create_task(part) for part in (lease.keep(), self._recorder.run(), self._resync.run(), *workers)]
            await self._lead(lease, parts=parts)
            raise Stopped

    async def _lead(self, lease: Lease, *, parts: Collection[asyncio.Task[None]]) -> None:
        """Watch until the end; then let go in order: no more work, then the lease, so that the next one starts on a quiet field."""
        logger.info("leading", extra={"fields": {"pod": self._settings.pod}})
        self.vitals.leads = True
        self._metrics.leader.set(1)
        registry = watch_registry(seen=self._seen, relisted=self._relisted, access=self._server.access)
        try:
            await watch(registry=registry, namespaces=self._settings.watch_namespaces)
        finally:
            for part in parts:
                part.cancel()
            with suppress(TimeoutError):
                async with asyncio.timeout(LET_GO_SECONDS):
                    await asyncio.gather(*parts, return_exceptions=True)
                    await lease.release()
            self._metrics.leader.set(0)
            self.vitals.leads = False

    async def _wait_for_kinds(self) -> None:
        """Wait for our own kinds: a watch looks for kinds once, at its start, and one that was not there then is never watched."""
        told = False
        while True:
            try:
                for kind in (VERTICAL_SERVICE.name, ENGINE.name):
                    for namespace in self._settings.watch_namespaces or (None,):
                        await self._server.list_owned(kind, namespace=namespace, selector=f"{kind}=none")
                return
            except (Gone, Terminal) as failure:
                hint = "install the CRDs" if isinstance(failure, Gone) else "check the ClusterRole"
                if not told:
                    logger.warning("the operator's own kinds can't be read yet (%s): %s", hint, failure.message)
                told = True
            except ClusterFailure as failure:
                logger.warning("the API server can't be reached yet: %s", failure.message)
            await asyncio.sleep(WAIT_FOR_KINDS_SECONDS)

    async def _stop_when_asked(self) -> None:
        await self._stop.wait()
        raise Stopped

    def _worker(self) -> Worker:
        return Worker(self._queue, self._controller, metrics=self._metrics, vitals=self.vitals)

    def _seen(self, event_type: str | None, body: Mapping[str, Any]) -> None:
        metadata = body["metadata"]
        own = Key(body.get("kind", ""), metadata.get("namespace", ""), metadata["name"])
        for key in self._fanout.keys(event_type, body):
            if key != own:
                # Pods and Jobs change many times in a moment: one look at the end of it is enough.
                self._queue.add_after(key, CHILD_SECONDS)
            elif event_type != "MODIFIED" or not self._controller.is_echo(key, resource_version=metadata["resourceVersion"]):
                # A listed object is always looked at: changes before our own write may have been in the gap of the watch.
                self._queue.add(key)

    def _relisted(self) -> None:
        self._metrics.relists.inc()
        self._resync.ask()

    def _measure(self) -> None:
        self._metrics.queue_depth.set(self._queue.depth)
        self._metrics.queue_age.set(self._queue.oldest_age)

    def _report(self, about: Manifest, transition: Transition) -> None:
        self._metrics.transitions.labels(about["kind"], transition.type, transition.status).inc()
        self._recorder.record(about, transition)

    async def _send_event(self, event: Manifest) -> None:
        await self._server.apply(event, field_manager=FIELD_MANAGER)


def _stop_on_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
