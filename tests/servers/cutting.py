"""A relay on loopback that breaks connections off after so many bytes of an answer: what a bad network does to a long transfer."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Relay:
    """`cuts` connections are broken off after `after` bytes from the server; `passed` counts all bytes that came through."""

    def __init__(self, target: int) -> None:
        self.target, self.cuts, self.after, self.passed = target, 0, 0, 0
        self.requests: list[bytes] = []
        """First lines and headers as they were sent."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])

    def accept_for_ever(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), client, socket.create_connection(("127.0.0.1", self.target)) as server:
            threading.Thread(target=self._forward, args=(client, server), daemon=True).start()
            answered = 0
            while chunk := server.recv(65536):
                if self.cuts and answered + len(chunk) > self.after:
                    self.cuts -= 1
                    client.shutdown(socket.SHUT_RDWR)
                    return
                answered += len(chunk)
                self.passed += len(chunk)
                client.sendall(chunk)

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while chunk := client.recv(65536):
                self.requests.append(chunk)
                server.sendall(chunk)


@contextmanager
def relaying(target: int) -> Iterator[Relay]:
    relay = Relay(target)
    thread = threading.Thread(target=relay.accept_for_ever, daemon=True)
    thread.start()
    try:
        yield relay
    finally:
        relay.close()
        thread.join()
