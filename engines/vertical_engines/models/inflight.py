"""The in-flight loop: paged KV cache, requests join and leave a running batch at every step."""

import threading
from typing import Any, Protocol

from vertical_engines.models.containment import contained
from vertical_engines.models.refusal import Refusal
from vertical_engines.models.ticket import Generated, Ticket
from vertical_engines.models.traffic import Traffic
from vertical_engines.models.waiting_room import WaitingRoom

STOPPING = Refusal("UNAVAILABLE", "the server is stopping")


class Batch(Protocol):
    """A running batch. A handle stands for one request in it; only the loop's thread calls these methods."""

    def add(self, ticket: Ticket) -> Any: ...

    def step(self) -> None:
        """One token for every request in the batch, or a piece of a prompt."""

    def result(self, handle: Any) -> Generated | None:
        """None while it is still at work; raises Refusal when the batch has given it up."""

    def cancel(self, handle: Any) -> None: ...


class InflightLoop:
    """One thread that owns the batch. At most `live` requests are in it: the scheduler's own limit does not bound
    the batch when prompts are split, and each request holds KV memory."""

    def __init__(self, batch: Batch, *, live: int, waiting: int, traffic: Traffic) -> None:
        self._batch = batch
        self._traffic = traffic
        self._slots = live
        self._live: dict[Ticket, Any] = {}
        self._room = WaitingRoom(waiting)
        self._thread = threading.Thread(target=self._run, name="inflight", daemon=True)
        self._thread.start()

    def submit(self, ticket: Ticket) -> None:
        """Queue a ticket; raises Refusal UNAVAILABLE when no more may wait."""
        self._room.enter(ticket)

    def close(self) -> None:
        """End after the step at hand and fail whatever is left."""
        for ticket in self._room.close():
            ticket.reply.fail(STOPPING)
        self._thread.join()

    def _run(self) -> None:
        while not self._room.closed:
            if why := contained(self._turn):
                self._fail_all(why)
        self._fail_all(STOPPING)

    def _turn(self) -> None:
        for ticket in self._room.leave(self._slots - len(self._live), block=not self._live):
            if why := contained(self._admit, ticket):
                self._drop(ticket, why)
        self._traffic.show(waiting=len(self._room), live=len(self._live))
        if self._live:
            self._batch.step()
        for ticket in list(self._live):
            if why := contained(self._collect, ticket):
                self._drop(ticket, why)
        if not self._live:
            self._traffic.show(waiting=len(self._room), live=0)

    def _admit(self, ticket: Ticket) -> None:
        if ticket.reply.is_cancelled():
            raise Refusal("CANCELLED", "the caller has gone")
        self._live[ticket] = self._batch.add(ticket)

    def _collect(self, ticket: Ticket) -> None:
        generated = self._batch.result(self._live[ticket])
        if generated is not None:
            del self._live[ticket]
            self._traffic.count_tokens(generated.tokens)
            ticket.reply.answer(generated)
        elif ticket.reply.is_cancelled():
            raise Refusal("CANCELLED", "the caller has gone")

    def _drop(self, ticket: Ticket, why: Refusal) -> None:
        """Out of the batch, and an answer for the caller: a reply that never comes would hold Triton's shutdown for ever."""
        handle = self._live.pop(ticket, None)
        contained(ticket.reply.fail, why)
        if handle is not None:
            contained(self._batch.cancel, handle)

    def _fail_all(self, why: Refusal) -> None:
        for ticket in list(self._live):
            self._drop(ticket, why)
