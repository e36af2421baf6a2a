"""The operator's own HTTP server: /healthz for the kubelet, /readyz for the Deployment, /metrics for Prometheus."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web

from vertical_operator.runtime.metrics import Metrics

STUCK_SECONDS = 180.0
"""Keys wait and no worker has finished anything for so long: the process is of no use any more."""
LAG_SECONDS = 10.0
BEAT_SECONDS = 1.0


@dataclass(kw_only=True)
class Vitals:
    """What the probes judge. Times are of the event loop's clock."""

    clock: Callable[[], float]
    waiting: Callable[[], int]
    """How many keys wait for a worker."""
    progressed_at: float
    """When a worker last finished a key, or found nothing to do."""
    lag: float = 0.0
    """Seconds by which the event loop was late at its last beat."""
    ready: bool = False
    """The process stands by for the lease, or leads and watches."""
    leads: bool = False

    def complaint(self) -> str | None:
        """Why the process should be restarted, or None."""
        if self.lag > LAG_SECONDS:
            return f"the event loop is {self.lag:.1f} s late"
        idle = self.clock() - self.progressed_at
        if self.waiting() and idle > STUCK_SECONDS:
            return f"{self.waiting()} keys wait and no worker has finished anything for {idle:.0f} s"
        return None


def http_application(vitals: Vitals, *, metrics: Metrics) -> web.Application:
    """The three paths."""

    async def healthz(_: web.Request) -> web.Response:
        complaint = vitals.complaint()
        return _answer(complaint or "ok", status=500 if complaint else 200)

    async def readyz(_: web.Request) -> web.Response:
        text = ("leader" if vitals.leads else "standby") if vitals.ready else "starting"
        return _answer(text, status=200 if vitals.ready else 503)

    async def show_metrics(_: web.Request) -> web.Response:
        return _answer(metrics.text().decode(), status=200)

    application = web.Application()
    application.add_routes([web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", show_metrics)])
    return application


@asynccontextmanager
async def serve_http(application: web.Application, *, host: str, port: int) -> AsyncIterator[int]:
    """Serve while the context lasts; gives the port, chosen by the system when 0 was asked for. Raises OSError when it is taken."""
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


async def beat(vitals: Vitals, *, metrics: Metrics, measure: Callable[[], None]) -> None:
    """Once a second: how late is the loop? Also the moment to copy gauges into the metrics. Never returns."""
    while True:
        due = vitals.clock() + BEAT_SECONDS
        await asyncio.sleep(BEAT_SECONDS)
        vitals.lag = max(vitals.clock() - due, 0.0)
        metrics.loop_lag.set(vitals.lag)
        if not vitals.waiting():
            vitals.progressed_at = vitals.clock()
        measure()


def _answer(text: str, *, status: int) -> web.Response:
    """One answer a connection: an idle one would hold up the end of the process."""
    response = web.Response(text=text, status=status)
    response.force_close()
    return response
