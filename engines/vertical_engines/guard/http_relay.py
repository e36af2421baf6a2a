"""Pass a body from one connection to another as it comes, holding no more than one piece of it."""

import asyncio
from typing import Protocol

from vertical_engines.guard.http_head import BadMessage, Body

PIECE = 64 * 1024


class Sink(Protocol):
    """Where pieces go. It may raise to stop the transfer."""

    async def take(self, piece: bytes, *, content: int) -> None:
        """`piece` as it is on the wire; `content` bytes of it belong to the body."""


async def relay(reader: asyncio.StreamReader, sink: Sink, *, body: Body) -> None:
    """Pass one body on. Raises IncompleteReadError when the sender is gone before its end, BadMessage when it is malformed."""
    match body.kind:
        case "length":
            await _relay_length(reader, sink, length=body.length)
        case "chunked":
            await _relay_chunks(reader, sink)
        case "until_close":
            while piece := await reader.read(PIECE):
                await sink.take(piece, content=len(piece))


async def _relay_length(reader: asyncio.StreamReader, sink: Sink, *, length: int) -> None:
    left = length
    while left:
        piece = await reader.read(min(PIECE, left))
        if not piece:
            raise asyncio.IncompleteReadError(b"", left)
        left -= len(piece)
        await sink.take(piece, content=len(piece))


async def _relay_chunks(reader: asyncio.StreamReader, sink: Sink) -> None:
    while True:
        line = await _line(reader)
        size = _chunk_size(line)
        await sink.take(line, content=0)
        if size == 0:
            break
        await _relay_length(reader, sink, length=size)
        await sink.take(await _line(reader, empty=True), content=0)
    while (trailer := await _line(reader)) != b"\r\n":
        await sink.take(trailer, content=0)
    await sink.take(trailer, content=0)


def _chunk_size(line: bytes) -> int:
    digits = line.split(b";", 1)[0].strip()
    if not digits or len(digits) > 15 or digits.strip(b"0123456789abcdefABCDEF"):
        raise BadMessage("a chunk has no valid size")
    return int(digits, 16)


async def _line(reader: asyncio.StreamReader, *, empty: bool = False) -> bytes:
    try:
        line = await reader.readuntil(b"\r\n")
    except asyncio.LimitOverrunError:
        raise BadMessage("a chunk line is too long") from None
    if empty and line != b"\r\n":
        raise BadMessage("a chunk is longer than its size says")
    return line
