"""Stand-ins for the pipelines and the way back to the caller: loops can be seen at work without a model."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from vertical_engines.models.refusal import Refusal
from vertical_engines.models.ticket import Generated, Ticket

WAIT_SECONDS = 10.0


@dataclass(eq=False)
class Caller:
    """A reply that keeps what it was given; `gone` makes the caller leave."""

    outcome: "Generated | Refusal | None" = None
    outcomes: int = 0
    gone: bool = False
    _done: threading.Event = field(default_factory=threading.Event)

    def is_cancelled(self) -> bool:
        return self.gone

    def answer(self, generated: Generated) -> None:
        self._end(generated)

    def fail(self, refusal: Refusal) -> None:
        self._end(refusal)

    def result(self) -> "Generated | Refusal":
        assert self._done.wait(WAIT_SECONDS), "the caller hangs"
        assert self.outcome is not None
        return self.outcome

    def code(self) -> str:
        """The code of the refusal, `answered` for an answer."""
        result = self.result()
        return result.code if isinstance(result, Refusal) else "answered"

    def _end(self, outcome: "Generated | Refusal") -> None:
        self.outcomes += 1
        if self.outcome is None:
            self.outcome = outcome
        self._done.set()


class StandInBatch:
    """A batch whose steps the test lets happen one by one, or all at once with `run_free`."""

    def __init__(self, *, free: bool = True) -> None:
        self.live: dict[Ticket, int] = {}
        self.cancelled: list[Ticket] = []
        self.most_live = 0
        self.step_error: Exception | None = None
        self.add_error: Exception | None = None
        self._steps = threading.Semaphore(0)
        self._free = free
        self.stepped = threading.Event()

    def let_step(self, count: int = 1) -> None:
        self._steps.release(count)

    def run_free(self) -> None:
        self._free = True
        self.let_step()

    def add(self, ticket: Ticket) -> Ticket:
        if self.add_error:
            raise self.add_error
        self.live[ticket] = 0
        self.most_live = max(self.most_live, len(self.live))
        return ticket

    def step(self) -> None:
        if not self._free:
            self._steps.acquire()
        self.stepped.set()
        if self.step_error:
            error, self.step_error = self.step_error, None
            raise error
        for ticket in self.live:
            self.live[ticket] += 1

    def result(self, handle: Ticket) -> Generated | None:
        if self.live[handle] < handle.max_tokens:
            return None
        return Generated("x" * self.live[handle], self.live.pop(handle), "length")

    def cancel(self, handle: Ticket) -> None:
        self.cancelled.append(handle)
        self.live.pop(handle, None)


class StandInGenerator:
    """One generation at a time; each token waits for `let_token` unless it runs freely."""

    def __init__(self, *, free: bool = True) -> None:
        self.begun: list[Ticket] = []
        self.error: Exception | None = None
        self._tokens = threading.Semaphore(0)
        self._free = free

    def let_token(self, count: int = 1) -> None:
        self._tokens.release(count)

    def run_free(self) -> None:
        self._free = True
        self.let_token()

    def generate(self, ticket: Ticket, *, keep_going: Callable[[], bool]) -> Generated | None:
        self.begun.append(ticket)
        if self.error:
            error, self.error = self.error, None
            raise error
        for _ in range(ticket.max_tokens):
            if not self._free:
                self._tokens.acquire()
            if not keep_going():
                return None
        return Generated("x" * ticket.max_tokens, ticket.max_tokens, "length")


def ticket(caller: Caller, *, tokens: int = 3) -> Ticket:
    return Ticket(tokens=[1, 2, 3], max_tokens=tokens, reply=caller)
