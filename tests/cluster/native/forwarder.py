"""Brings a TCP port of a cluster's network to this machine's loopback, without touching the machine's network.

A socket stays in the network namespace in which it was made. So: listen here first, then move the thread into the
cluster's namespace, and dial from there.
"""

import asyncio
import ctypes
import os
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_CLONE_NEWNET = 0x40000000
_CHUNK = 1 << 16


def enter_network(pid: int) -> None:
    """Move the calling thread, and no other, into the network namespace of a process. Needs root."""
    handle = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).setns(handle, _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
    finally:
        os.close(handle)


async def serve(listener: socket.socket, *, address: str, port: int, stop: asyncio.Event) -> None:
    """Join each connection to one to `address`:`port`, until told to stop."""

    async def join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(address, port)
        except OSError:
            near: socket.socket = writer.get_extra_info("socket")
            near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()  # the client sees a reset: nobody took its request
            return
        with suppress(asyncio.CancelledError):  # the forwarder ends while a client keeps its connection: streams would log it as an error
            await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))
        for end in (writer, far_writer):
            end.close()

    async with await asyncio.start_server(join, sock=listener):
        await stop.wait()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except OSError:
        with suppress(OSError):
            writer.transport.abort()


@contextmanager
def forwarded(pid: int, address: str, port: int) -> Iterator[int]:
    """A port on 127.0.0.1 that leads to `address`:`port` as seen from the network of `pid`, served by a thread of this process."""
    listener = socket.create_server(("127.0.0.1", 0))
    local: int = listener.getsockname()[1]
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    def work() -> None:
        enter_network(pid)
        with asyncio.Runner(loop_factory=lambda: loop) as runner:  # its end cancels connections that are still open
            runner.run(serve(listener, address=address, port=port, stop=stop))

    thread = threading.Thread(target=work, daemon=True, name=f"forward {address}:{port}")
    thread.start()
    try:
        yield local
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(timeout=10)


def free_port() -> int:
    """A port of the loopback that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def main(pid: int, port: int) -> None:
    """The same port on both sides, for as long as this process lives: what brings the API server to the machine."""
    listener = socket.create_server(("127.0.0.1", port))
    enter_network(pid)
    asyncio.run(serve(listener, address="127.0.0.1", port=port, stop=asyncio.Event()))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
