"""A bounded first-in first-out queue of tickets between Triton's thread and a loop's thread."""

import threading
from collections import deque

from vertical_engines.models.refusal import Refusal
from vertical_engines.models.ticket import Ticket


class WaitingRoom:
    """Every method may be called from any thread."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._tickets: deque[Ticket] = deque()
        self._changed = threading.Condition()
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    def __len__(self) -> int:
        return len(self._tickets)

    def enter(self, ticket: Ticket) -> None:
        """Wait in line; raises Refusal UNAVAILABLE when the room is full or closed."""
        with self._changed:
            if self._closed:
                raise Refusal("UNAVAILABLE", "the server is stopping")
            if len(self._tickets) >= self._size:
                raise Refusal("UNAVAILABLE", f"{len(self._tickets)} requests are waiting already; try again later")
            self._tickets.append(ticket)
            self._changed.notify()

    def leave(self, most: int, *, block: bool) -> list[Ticket]:
        """Up to `most` tickets in their order. With `block` it waits for the first one, or for the close."""
        with self._changed:
            while block and not self._tickets and not self._closed:
                self._changed.wait()
            return [self._tickets.popleft() for _ in range(min(most, len(self._tickets)))]

    def close(self) -> list[Ticket]:
        """No more tickets; gives those that still waited."""
        with self._changed:
            self._closed = True
            left = list(self._tickets)
            self._tickets.clear()
            self._changed.notify_all()
        return left
