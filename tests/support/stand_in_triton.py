"""A small HTTP server that behaves as Triton does where the guard looks: inference, metrics, its ways of failing."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

from vertical_engines.guard.http_head import HEAD_LIMIT, Head, read_head, request_body
from vertical_engines.guard.http_relay import relay
from vertical_engines.guard.settings import Settings

Mood = Literal["answer", "hang", "dead stub", "cached failure", "refuse", "full", "break"]
ANSWER = {"model_name": "generator", "outputs": [{"name": "text", "datatype": "BYTES", "shape": [1], "data": ["ok"]}]}
REPLIES: dict[Mood, tuple[int, object]] = {
    "answer": (200, ANSWER),
    "dead stub": (500, {"error": "Stub process 'generator_0_0' is not healthy."}),
    "cached failure": (200, {"outputs": []}),
    "refuse": (400, {"error": "[INVALID_ARG] name: Field required"}),
    "full": (503, {"error": "[UNAVAILABLE] 64 requests are waiting already; try again later"}),
}


@dataclass
class StandInTriton:
    """`mood` decides about the next inference. Hanging ones are answered once `release` is set."""

    mood: Mood = "answer"
    successes: int = 0
    bodies: list[bytes] = field(default_factory=list)
    heads: list[Head] = field(default_factory=list)
    release: asyncio.Event = field(default_factory=asyncio.Event)
    hanging: int = 0
    connections: int = 0
    port: int = 0
    server: asyncio.Server | None = None
    writers: set[asyncio.StreamWriter] = field(default_factory=set)

    async def start(self) -> None:
        self.server = await asyncio.start_server(self._welcome, "127.0.0.1", self.port, limit=HEAD_LIMIT)
        self.port = self.server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """As a process ends: nobody listens and every connection breaks."""
        if self.server:
            self.server.close()
        for writer in list(self.writers):
            writer.transport.abort()

    async def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.add(writer)
        try:
            while (head := await read_head(reader)) is not None:
                await self._serve(head, reader, writer)
        except (OSError, EOFError, asyncio.CancelledError):
            pass
        finally:
            self.writers.discard(writer)
            writer.close()

    async def _serve(self, head: Head, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        body = Collected()
        await relay(reader, body, body=request_body(head))
        if b"/metrics" in head.start:
            await _reply(writer, 200, f'nv_inference_request_success{{model="a",version="1"}} {self.successes}\n'.encode())
            return
        self.heads.append(head)
        self.bodies.append(bytes(body.content))
        mood = self.mood
        if mood == "break":
            writer.transport.abort()
            return
        if mood == "hang":
            self.hanging += 1
            await self.release.wait()
            self.hanging -= 1
            mood = "answer"
        status, content = REPLIES[mood]
        self.successes += mood == "answer"
        await _reply(writer, status, json.dumps(content).encode())


class Collected:
    """The content of a body, without its framing."""

    def __init__(self) -> None:
        self.content = bytearray()

    async def take(self, piece: bytes, *, content: int) -> None:
        if content:
            self.content += piece


async def _reply(writer: asyncio.StreamWriter, status: int, body: bytes) -> None:
    writer.write(f"HTTP/1.1 {status} -\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    await writer.drain()


@asynccontextmanager
async def stand_in_triton() -> AsyncIterator[StandInTriton]:
    triton = StandInTriton()
    await triton.start()
    try:
        yield triton
    finally:
        await triton.stop()


def quick_settings(triton: StandInTriton, **changes: object) -> Settings:
    """Settings for a stand-in, with times that make a test quick."""
    values: dict[str, object] = {
        "entrypoint": "matching",
        "model": "generator",
        "canary": None,
        "triton_http_port": triton.port,
        "metrics_port": triton.port,
        "grpc_port": 1,
        "canary_interval": 0.02,
        "canary_timeout": 0.02,
        "retry_interval": 0.01,
        "dead_after": 30.0,
        "lame": 0.05,
        "quiet": 0.05,
        "idle": 0.05,
        "drain_max": 20.0,
        "body_limit": 1000,
    }
    return Settings(**{**values, **changes})  # type: ignore[arg-type]


async def until(condition: object, *, seconds: float = 10.0) -> None:
    """Wait for a condition that other tasks make true."""
    assert callable(condition)
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - the stand-in and the guard have no events for everything
            await asyncio.sleep(0.005)
