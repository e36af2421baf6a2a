"""The probe port: /startupz, /readyz, /livez, /drain and /state."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from vertical_engines.guard.health import Health
from vertical_engines.guard.http_head import HEAD_LIMIT, BadMessage, read_head

REQUEST_TIMEOUT = 5.0


class Admin:
    """`health` gives the current value, `drain` waits for the drain, `state` is what people see."""

    def __init__(
        self, *, health: Callable[[], Health], drain: Callable[[], Awaitable[dict[str, Any]]], state: Callable[[], dict[str, Any]]
    ) -> None:
        self._health = health
        self._drain = drain
        self._state = state

    async def listen(self, host: str, port: int) -> asyncio.Server:
        return await asyncio.start_server(self._welcome, host, port, limit=HEAD_LIMIT)

    async def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await asyncio.wait_for(read_head(reader), REQUEST_TIMEOUT)
            if head is not None:
                path = head.start.split(b" ")[1].split(b"?")[0].decode(errors="replace") if b" " in head.start else "/"
                writer.write(_answer(*await self._handle(path)))
                await writer.drain()
        except (OSError, EOFError, BadMessage, asyncio.TimeoutError, asyncio.CancelledError):
            pass  # cancelled when the guard is ending: asyncio would report it as an error
        finally:
            writer.close()

    async def _handle(self, path: str) -> tuple[int, dict[str, Any]]:
        health = self._health()
        match path:
            case "/startupz":
                return _verdict(health.started), {"why": health.why}
            case "/readyz":
                return _verdict(health.ready), {"why": "draining" if health.draining else health.why}
            case "/livez":
                return _verdict(health.live), {"why": health.why}
            case "/drain":
                return 200, await self._drain()
            case "/state":
                return 200, self._state()
            case _:
                return 404, {"error": f"{path} is not served here"}


def _verdict(well: bool) -> int:
    return 200 if well else 503


def _answer(status: int, content: dict[str, Any]) -> bytes:
    body = json.dumps(content).encode() + b"\n"
    head = f"HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body
