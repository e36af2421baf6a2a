"""The guard put together: watch, front and probe port in one event loop, until a signal ends it."""

import asyncio
import signal
from dataclasses import dataclass
from typing import Any

from vertical_engines.guard.admin import Admin
from vertical_engines.guard.connections import count_connections
from vertical_engines.guard.drain import drain
from vertical_engines.guard.front import Front
from vertical_engines.guard.settings import Settings
from vertical_engines.guard.triton import Canary, count_successes
from vertical_engines.guard.watch import Watch


@dataclass(frozen=True)
class Addresses:
    """Where callers and the kubelet come in. Port 0 takes a free one."""

    host: str
    http_port: int
    admin_port: int


class Sidecar:
    """Started once; `ports` are the ones that were taken."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.watch = Watch(settings, send=Canary(settings).send, count=lambda: count_successes(settings))
        self._front = Front(settings, draining=lambda: self.watch.health.draining)
        self._admin = Admin(health=lambda: self.watch.health, drain=self._drain, state=self.state)
        self._servers: list[asyncio.Server] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self, addresses: Addresses) -> tuple[int, int]:
        """The HTTP port and the probe port that were taken."""
        self._servers = [
            await self._front.listen(addresses.host, addresses.http_port),
            await self._admin.listen(addresses.host, addresses.admin_port),
        ]
        self._tasks = [asyncio.ensure_future(self.watch.run()), asyncio.ensure_future(self._front.sweep())]
        first, second = (int(server.sockets[0].getsockname()[1]) for server in self._servers)
        return first, second

    async def stop(self) -> None:
        for server in self._servers:
            server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def failed(self) -> None:
        """Raises if the watch or the sweep ends by an error: without them every probe would be stale."""
        await asyncio.gather(*self._tasks)

    def state(self) -> dict[str, Any]:
        health = self.watch.health
        return {
            "phase": health.phase,
            "why": health.why,
            "ready": health.ready,
            "live": health.live,
            "draining": health.draining,
            "failures": health.failures,
            "lifelessSeconds": round(health.lifeless_for(asyncio.get_running_loop().time()), 1),
            "httpInUse": self._front.in_use(),
            "grpcConnections": count_connections(self._settings.grpc_port),
        }

    async def _drain(self) -> dict[str, Any]:
        self.watch.start_drain()
        result = await drain(self._settings, in_use=self._in_use, present=lambda: self.watch.health.started)
        self._front.cut_idle()
        return {"seconds": round(result.seconds, 1), "left": result.left}

    def _in_use(self) -> int:
        return self._front.in_use() + count_connections(self._settings.grpc_port)


async def run_sidecar(settings: Settings, *, addresses: Addresses) -> None:
    """Serve until SIGTERM or SIGINT. Raises Refused for a server that will never answer a canary."""
    sidecar = Sidecar(settings)
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    await sidecar.start(addresses)
    waiting = asyncio.ensure_future(ended.wait())
    watching = asyncio.ensure_future(sidecar.failed())
    await asyncio.wait({waiting, watching}, return_when=asyncio.FIRST_COMPLETED)
    failure = watching.exception() if watching.done() else None
    waiting.cancel()
    watching.cancel()
    await sidecar.stop()
    if failure:
        raise failure
