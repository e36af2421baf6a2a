"""The HTTP front over raw connections: what reaches the server, what is refused, and how connections end."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.support.stand_in_triton import ANSWER, Collected, StandInTriton, quick_settings, stand_in_triton, until
from vertical_engines.guard.front import Front
from vertical_engines.guard.http_head import HEAD_LIMIT, Head, read_head, response_body, status_of
from vertical_engines.guard.http_relay import relay


class Caller:
    """One connection to the front."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, body: bytes = b"{}", *, headers: str = "", length: bool = True, line: str = "POST /v2/x HTTP/1.1") -> None:
        size = f"Content-Length: {len(body)}\r\n" if length else ""
        self.writer.write(f"{line}\r\nHost: a\r\n{size}{headers}\r\n".encode() + body)
        await self.writer.drain()

    async def receive(self) -> tuple[int, Head, bytes]:
        async with asyncio.timeout(10):
            head = await read_head(self.reader)
            assert head is not None, "the connection was closed without an answer"
            body = Collected()
            await relay(self.reader, body, body=response_body(head, method=b"POST"))
        return status_of(head), head, bytes(body.content)

    async def is_closed(self) -> bool:
        async with asyncio.timeout(10):
            return await self.reader.read(1) == b""


class House:
    """A front, the stand-in behind it, and whether it drains."""

    def __init__(self, triton: StandInTriton, **changes: object) -> None:
        self.triton = triton
        self.draining = False
        self.front = Front(quick_settings(triton, **changes), draining=lambda: self.draining)
        self.port = 0

    async def caller(self) -> Caller:
        return Caller(*await asyncio.open_connection("127.0.0.1", self.port, limit=HEAD_LIMIT))


@asynccontextmanager
async def house(**changes: object) -> AsyncIterator[House]:
    async with stand_in_triton() as triton:
        one = House(triton, **changes)
        server = await one.front.listen("127.0.0.1", 0)
        one.port = server.sockets[0].getsockname()[1]
        try:
            yield one
        finally:
            server.close()


async def test_requests_pass_and_both_connections_are_kept() -> None:
    async with house() as here:
        caller = await here.caller()
        for number in range(3):
            await caller.send(f'{{"n": {number}}}'.encode(), headers="X-Own: Kept\r\n")
            status, head, body = await caller.receive()
            assert (status, json.loads(body)) == (200, ANSWER)
            assert head.get(b"connection") == b"keep-alive"
        assert here.triton.bodies == [b'{"n": 0}', b'{"n": 1}', b'{"n": 2}']
        assert here.triton.heads[0].get(b"x-own") == b"Kept"
        assert here.triton.connections == 1


async def test_a_caller_that_wants_to_close_is_closed() -> None:
    async with house() as here:
        caller = await here.caller()
        await caller.send(headers="Connection: close\r\n")
        status, head, _ = await caller.receive()
        assert (status, head.get(b"connection")) == (200, b"close")
        assert await caller.is_closed()


CHUNKS = b'4\r\n{"a"\r\n4;x=y\r\n: 1}\r\n0\r\nTrailer: 1\r\n\r\n'


async def test_a_chunked_body_passes_as_it_is() -> None:
    async with house() as here:
        caller = await here.caller()
        await caller.send(CHUNKS, headers="Transfer-Encoding: chunked\r\n", length=False)
        assert (await caller.receive())[0] == 200
        assert here.triton.bodies == [b'{"a": 1}']
        await caller.send(b"{}")
        assert (await caller.receive())[0] == 200


BINARY = "Inference-Header-Content-Length: 100\r\n"


@pytest.mark.parametrize(
    ("size", "headers", "status"),
    [(1000, "", 200), (1001, "", 413), (1_000_000, "", 413), (1_000_000, BINARY, 200), (5000, BINARY.replace("100", "1001"), 413)],
)
async def test_json_over_the_limit_is_refused_and_binary_tensors_are_not(size: int, headers: str, status: int) -> None:
    async with house() as here:
        caller = await here.caller()
        await caller.send(b"x" * size, headers=headers)
        seen, head, body = await caller.receive()
        assert seen == status
        assert len(here.triton.bodies) == (status == 200)
        if status == 413:
            assert "JSON of more than 1000 bytes is not accepted" in json.loads(body)["error"]
            assert head.get(b"connection") == b"close"
            assert await caller.is_closed()


async def test_a_chunked_body_is_cut_off_at_the_limit() -> None:
    async with house() as here:
        caller = await here.caller()
        chunk = b"190\r\n" + b"x" * 400 + b"\r\n"
        await caller.send(chunk * 100 + b"0\r\n\r\n", headers="Transfer-Encoding: chunked\r\n", length=False)
        assert (await caller.receive())[0] == 413
        assert here.triton.bodies == []


async def test_expect_100_continue_is_answered_by_the_front() -> None:
    async with house() as here:
        caller = await here.caller()
        await caller.send(b"", headers="Content-Length: 2\r\nExpect: 100-continue\r\n", length=False)
        async with asyncio.timeout(10):
            assert await caller.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        caller.writer.write(b"{}")
        assert (await caller.receive())[0] == 200
        assert here.triton.heads[0].get(b"expect") is None


async def test_while_draining_each_answer_ends_its_connection() -> None:
    async with house() as here:
        kept = await here.caller()
        await kept.send()
        assert (await kept.receive())[1].get(b"connection") == b"keep-alive"
        here.draining = True
        for caller in (kept, await here.caller()):
            await caller.send()
            status, head, _ = await caller.receive()
            assert (status, head.get(b"connection")) == (200, b"close")
            assert await caller.is_closed()


async def test_without_a_server_the_answer_is_503_in_json() -> None:
    async with house() as here:
        await here.triton.stop()
        caller = await here.caller()
        await caller.send()
        status, _, body = await caller.receive()
        assert (status, json.loads(body)) == (503, {"error": "the model server is not there; it may be starting"})


async def test_a_server_that_breaks_off_gives_502_and_the_next_caller_is_served() -> None:
    async with house() as here:
        here.triton.mood = "break"
        caller = await here.caller()
        await caller.send()
        assert (await caller.receive())[0] == 502
        here.triton.mood = "answer"
        other = await here.caller()
        await other.send()
        assert (await other.receive())[0] == 200


async def test_a_kept_connection_outlives_a_restart_of_the_server() -> None:
    async with house() as here:
        caller = await here.caller()
        await caller.send()
        assert (await caller.receive())[0] == 200
        await here.triton.stop()
        await here.triton.start()
        await caller.send()
        assert (await caller.receive())[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 2\r\nContent-Length: 3\r\n",
        "Content-Length: two\r\n",
        "Content-Length: -2\r\n",
        "Transfer-Encoding: gzip\r\n",
        "no colon here\r\n",
        "Space : before\r\n",
        f"X: {'y' * HEAD_LIMIT}\r\n",
    ],
)
async def test_heads_that_two_servers_could_read_differently_are_refused(headers: str) -> None:
    async with house() as here:
        caller = await here.caller()
        await caller.send(b"{}", headers=headers, length=False)
        assert (await caller.receive())[0] == 400
        assert here.triton.heads == []


async def test_connections_are_counted_while_in_use_and_cut_when_idle() -> None:
    async with house() as here:
        idle, busy = await here.caller(), await here.caller()
        await idle.send()
        await idle.receive()
        here.triton.mood = "hang"
        await busy.send()
        await until(lambda: here.triton.hanging == 1)
        await until(lambda: here.front.in_use() == 1)
        here.front.cut_idle()
        assert await idle.is_closed()
        here.triton.release.set()
        assert (await busy.receive())[0] == 200


async def test_no_more_connections_than_allowed() -> None:
    async with house(most_connections=2) as here:
        callers = [await here.caller() for _ in range(2)]
        for caller in callers:
            await caller.send()
            assert (await caller.receive())[0] == 200
        third = await here.caller()
        status, _, body = await third.receive()
        assert (status, json.loads(body)) == (503, {"error": "2 connections are open already"})


async def test_a_connection_that_says_nothing_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vertical_engines.guard.front.SWEEP_SECONDS", 0.01)
    async with house(forgotten=0.05) as here:
        sweep = asyncio.ensure_future(here.front.sweep())
        silent, stalled = await here.caller(), await here.caller()
        await stalled.send(b"{", headers="Content-Length: 2\r\n", length=False)
        for caller in (silent, stalled):
            with pytest.raises((ConnectionError, EOFError)):
                async with asyncio.timeout(10):
                    await caller.reader.readexactly(1)
        sweep.cancel()
