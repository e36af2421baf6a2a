"""One caller's requests on their way to Triton and the answers on their way back, over one connection to Triton."""

import asyncio
import contextlib
import json
from collections.abc import Callable
from http import HTTPStatus

from vertical_engines.guard.http_head import HEAD_LIMIT, BadMessage, Body, Head, read_head, request_body, response_body, status_of
from vertical_engines.guard.http_relay import relay
from vertical_engines.guard.settings import Settings
from vertical_engines.guard.triton import HOST

BINARY_HEADER = b"inference-header-content-length"
"""With it a body is a small JSON header and raw tensors, which Triton takes at any size."""


class Refused(Exception):
    """The guard answers by itself, and the connection ends."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def answer_of(status: int, message: str) -> bytes:
    """A whole JSON error answer in Triton's form, after which the connection ends."""
    body = json.dumps({"error": message}).encode()
    head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + body


class Transfer:
    """Keeps its connection to Triton for the caller's next request."""

    def __init__(self, settings: Settings, *, caller: asyncio.StreamWriter) -> None:
        self._settings = settings
        self._caller = caller
        self._server: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._last_piece: float | None = None

    def stalled_for(self, now: float) -> float:
        """Seconds since the last piece of a body that is still on its way in, 0 when there is none."""
        return 0.0 if self._last_piece is None else now - self._last_piece

    def _move(self) -> None:
        self._last_piece = asyncio.get_running_loop().time()

    def close(self) -> None:
        if self._server:
            self._server[1].close()
            self._server = None

    async def exchange(self, head: Head, reader: asyncio.StreamReader, *, closing: Callable[[], bool]) -> bool:
        """Hand on one request and its answer; whether the connection may be used again.

        Raises Refused or BadMessage while nothing of an answer was sent, OSError or EOFError when a peer has gone.
        """
        body = request_body(head)
        limit = json_limit(head, body, limit=self._settings.body_limit)
        if (head.get(b"expect") or b"").lower() == b"100-continue":
            self._caller.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        server = await self._connect()
        try:
            answer = await self._send(head, body, reader=reader, server=server, limit=limit)
        except (OSError, EOFError):
            raise Refused(502, "the model server ended the connection before it answered") from None
        back = response_body(answer, method=head.start.split(b" ", 1)[0])
        last = closing() or head.wants_close() or back.kind == "until_close"
        self._caller.write(answer.to_bytes(connection=b"close" if last else b"keep-alive"))
        await relay_answer(server[0], self._caller, body=back)
        if answer.wants_close() or last:
            self.close()
        return not last

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._server and (self._server[0].at_eof() or self._server[1].is_closing()):
            self.close()
        if self._server is None:
            try:
                self._server = await asyncio.open_connection(HOST, self._settings.triton_http_port, limit=HEAD_LIMIT)
            except OSError:
                raise Refused(503, "the model server is not there; it may be starting") from None
        return self._server

    async def _send(
        self,
        head: Head,
        body: Body,
        *,
        reader: asyncio.StreamReader,
        server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        limit: int | None,
    ) -> Head:
        self._move()
        server[1].write(head.to_bytes(connection=b"keep-alive"))
        # Triton may refuse the rest of a body: its answer then says why, if there is one
        with contextlib.suppress(ConnectionError):
            await relay(reader, _Measured(server[1], limit=limit, moved=self._move), body=body)
        self._last_piece = None
        while True:
            answer = await read_head(server[0])
            if answer is None:
                raise EOFError
            if status_of(answer) >= 200:
                return answer


def json_limit(head: Head, body: Body, *, limit: int) -> int | None:
    """How many bytes a body may still turn out to have; None for no limit. Raises Refused 413 when its head says too much already."""
    binary = head.get(BINARY_HEADER)
    if binary is not None and not binary.isdigit():
        raise BadMessage("inference-header-content-length is not a number")
    json_part = body.length if binary is None else int(binary)
    if json_part > limit:
        raise too_large(limit)
    return limit if binary is None else None


def too_large(limit: int) -> Refused:
    return Refused(413, f"JSON of more than {limit} bytes is not accepted; send tensors with the binary extension or over gRPC")


async def relay_answer(server: asyncio.StreamReader, caller: asyncio.StreamWriter, *, body: Body) -> None:
    """Pass an answer on; a broken one ends the connection, for its head is out already."""
    try:
        await relay(server, _Measured(caller), body=body)
    except BadMessage as error:
        raise EOFError(str(error)) from None


class _Measured:
    """Writes pieces on, tells that something moved, and stops a body that turns out to be too large."""

    def __init__(self, writer: asyncio.StreamWriter, *, limit: int | None = None, moved: Callable[[], None] = lambda: None) -> None:
        self._writer = writer
        self._limit = limit
        self._moved = moved
        self._seen = 0

    async def take(self, piece: bytes, *, content: int) -> None:
        self._moved()
        self._seen += content
        if self._limit is not None and self._seen > self._limit:
            raise too_large(self._limit)
        self._writer.write(piece)
        await self._writer.drain()
