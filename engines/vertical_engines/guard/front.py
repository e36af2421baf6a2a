"""The HTTP front on the pod's public port: hands requests to Triton, refuses what would kill it, lets connections end while draining."""

import asyncio
import contextlib
from collections.abc import Callable

from vertical_engines.guard.http_head import HEAD_LIMIT, BadMessage, read_head
from vertical_engines.guard.settings import Settings
from vertical_engines.guard.transfer import Refused, Transfer, answer_of

BROKEN = (OSError, EOFError)
"""What a peer that goes away raises, on either side."""

LINGER_SECONDS = 2.0
LINGER_BYTES = 64 * 1024 * 1024
SWEEP_SECONDS = 5.0


class Connection:
    """One caller: `busy` while a request of its own is at work."""

    def __init__(self, writer: asyncio.StreamWriter, *, transfer: Transfer) -> None:
        self.writer = writer
        self.transfer = transfer
        self.busy = False
        self.last_used = _now()

    def rest(self) -> None:
        self.busy, self.last_used = False, _now()

    def quiet_for(self, now: float) -> float:
        """Seconds in which the caller should have sent something and did not."""
        return self.transfer.stalled_for(now) if self.busy else now - self.last_used


class Front:
    """`draining` is asked for each answer: once true, the answer ends its connection."""

    def __init__(self, settings: Settings, *, draining: Callable[[], bool]) -> None:
        self._settings = settings
        self._draining = draining
        self._connections: set[Connection] = set()

    async def listen(self, host: str, port: int) -> asyncio.Server:
        return await asyncio.start_server(self._welcome, host, port, limit=HEAD_LIMIT)

    async def sweep(self) -> None:
        """Close forgotten connections, for ever."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            for caller in self._connections:
                if caller.quiet_for(_now()) > self._settings.forgotten:
                    caller.writer.transport.abort()

    def in_use(self) -> int:
        """Connections with a request at work, or used so lately that the next request may be on its way."""
        now = _now()
        return sum(1 for caller in self._connections if caller.busy or now - caller.last_used <= self._settings.idle)

    def cut_idle(self) -> None:
        """Close what has no request at work. Triton waits for connections that are kept alive until its exit timeout."""
        for caller in self._connections:
            if not caller.busy:
                caller.writer.close()

    async def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        caller = Connection(writer, transfer=Transfer(self._settings, caller=writer))
        try:
            if len(self._connections) >= self._settings.most_connections:
                raise Refused(503, f"{len(self._connections)} connections are open already")
            self._connections.add(caller)
            while await self._serve(reader, caller):
                caller.rest()
        except Refused as refused:
            await _part(reader, writer, answer_of(refused.status, str(refused)))
        except BadMessage as error:
            await _part(reader, writer, answer_of(400, str(error)))
        except (*BROKEN, asyncio.CancelledError):
            pass  # the guard is ending: asyncio reports handlers that end as cancelled as errors
        finally:
            self._connections.discard(caller)
            caller.transfer.close()
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, caller: Connection) -> bool:
        """One request and its answer; whether another one may follow on this connection."""
        head = await read_head(reader)
        if head is None:
            return False
        caller.busy = True
        return await caller.transfer.exchange(head, reader, closing=self._draining)


async def _part(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: bytes) -> None:
    """Answer and end. What is still coming in is read and thrown away, or the kernel would drop the answer with a reset."""
    with contextlib.suppress(*BROKEN, asyncio.TimeoutError):
        writer.write(answer)
        await writer.drain()
        writer.write_eof()
        await asyncio.wait_for(_discard(reader), LINGER_SECONDS)


async def _discard(reader: asyncio.StreamReader) -> None:
    left = LINGER_BYTES
    while left > 0 and (piece := await reader.read(HEAD_LIMIT)):
        left -= len(piece)


def _now() -> float:
    return asyncio.get_running_loop().time()
