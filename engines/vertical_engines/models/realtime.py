"""The realtime loop: contiguous KV cache, one request at a time, in the order of arrival."""

import threading
from collections.abc import Callable
from typing import Protocol

from vertical_engines.models.containment import contained
from vertical_engines.models.refusal import Refusal
from vertical_engines.models.ticket import Generated, Ticket
from vertical_engines.models.traffic import Traffic
from vertical_engines.models.waiting_room import WaitingRoom

STOPPING = Refusal("UNAVAILABLE", "the server is stopping")


class Generator(Protocol):
    """One whole generation. `keep_going` is asked after each token; once false, the generation ends and None is returned."""

    def generate(self, ticket: Ticket, *, keep_going: Callable[[], bool]) -> Generated | None: ...


class RealtimeLoop:
    """One thread that owns the generator."""

    def __init__(self, generator: Generator, *, waiting: int, traffic: Traffic) -> None:
        self._generator = generator
        self._traffic = traffic
        self._room = WaitingRoom(waiting)
        self._thread = threading.Thread(target=self._run, name="realtime", daemon=True)
        self._thread.start()

    def submit(self, ticket: Ticket) -> None:
        """Queue a ticket; raises Refusal UNAVAILABLE when no more may wait."""
        self._room.enter(ticket)

    def close(self) -> None:
        """End the generation at its next token and fail whatever is left."""
        for ticket in self._room.close():
            ticket.reply.fail(STOPPING)
        self._thread.join()

    def _run(self) -> None:
        while not self._room.closed:
            for ticket in self._room.leave(1, block=True):
                if why := contained(self._serve, ticket):
                    contained(ticket.reply.fail, why)

    def _serve(self, ticket: Ticket) -> None:
        self._traffic.show(waiting=len(self._room), live=1)
        try:
            self._generate(ticket)
        finally:
            self._traffic.show(waiting=len(self._room), live=0)

    def _generate(self, ticket: Ticket) -> None:
        if ticket.reply.is_cancelled():
            raise Refusal("CANCELLED", "the caller has gone")
        generated = self._generator.generate(ticket, keep_going=lambda: not self._room.closed and not ticket.reply.is_cancelled())
        if generated is None:
            raise STOPPING if self._room.closed else Refusal("CANCELLED", "the caller has gone")
        self._traffic.count_tokens(generated.tokens)
        ticket.reply.answer(generated)
