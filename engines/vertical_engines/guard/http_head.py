"""Heads of HTTP/1.1 messages: read, looked into and written again; and how long the body behind a head is."""

import asyncio
from dataclasses import dataclass
from typing import Literal

HEAD_LIMIT = 64 * 1024
HOP_BY_HOP = frozenset({b"connection", b"keep-alive", b"proxy-connection", b"expect"})


class BadMessage(Exception):
    """Not HTTP that can be passed on; the text is for the caller."""


@dataclass(frozen=True)
class Head:
    """`start` is the request or status line without its line end; header names keep their spelling."""

    start: bytes
    headers: tuple[tuple[bytes, bytes], ...]

    def get(self, name: bytes) -> bytes | None:
        """The value of a header, None when it is not there; BadMessage when it is there twice with different values."""
        values = {value for key, value in self.headers if key.lower() == name}
        if len(values) > 1:
            raise BadMessage(f"header {name.decode()} is given more than once")
        return next(iter(values), None)

    def wants_close(self) -> bool:
        """Whether the sender ends the connection after this message."""
        connection = (self.get(b"connection") or b"").lower()
        return b"close" in connection or (b"HTTP/1.0" in self.start and b"keep-alive" not in connection)

    def to_bytes(self, *, connection: bytes) -> bytes:
        """The head with a Connection header of this hop."""
        lines = [self.start]
        lines += [key + b": " + value for key, value in self.headers if key.lower() not in HOP_BY_HOP]
        return b"\r\n".join([*lines, b"Connection: " + connection, b"", b""])


@dataclass(frozen=True)
class Body:
    """How a body is delimited; `length` in bytes for kind `length`."""

    kind: Literal["length", "chunked", "until_close"]
    length: int = 0


async def read_head(reader: asyncio.StreamReader) -> Head | None:
    """The next head; None when the peer has closed instead. Raises BadMessage."""
    try:
        text = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial.strip():
            raise BadMessage("the connection ended within a message head") from None
        return None
    except asyncio.LimitOverrunError:
        raise BadMessage(f"the message head is larger than {HEAD_LIMIT} bytes") from None
    start, *lines = text[:-4].lstrip(b"\r\n").split(b"\r\n")
    headers = []
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not name or name != name.strip():
            raise BadMessage("a header line is malformed")
        headers.append((name, value.strip()))
    return Head(start, tuple(headers))


def request_body(head: Head) -> Body:
    """The body of a request. Two ways of saying its length in one head are how requests are smuggled: BadMessage."""
    coding, length = head.get(b"transfer-encoding"), head.get(b"content-length")
    if coding is not None:
        if length is not None or coding.lower() != b"chunked":
            raise BadMessage("transfer-encoding must be chunked and stand alone")
        return Body("chunked")
    return Body("length", _length(length) if length is not None else 0)


def response_body(head: Head, *, method: bytes) -> Body:
    """The body of the answer to a request with that method."""
    if method == b"HEAD" or status_of(head) in (204, 304):
        return Body("length", 0)
    if (head.get(b"transfer-encoding") or b"").lower() == b"chunked":
        return Body("chunked")
    length = head.get(b"content-length")
    return Body("until_close") if length is None else Body("length", _length(length))


def status_of(head: Head) -> int:
    """The status code of a response; BadMessage when its status line has none."""
    parts = head.start.split(b" ", 2)
    if len(parts) < 2 or not parts[1].isdigit():
        raise BadMessage("the status line is malformed")
    return int(parts[1])


def _length(text: bytes) -> int:
    if not text.isdigit() or len(text) > 18:
        raise BadMessage("content-length is not a number")
    return int(text)
