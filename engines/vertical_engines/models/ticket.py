"""One generation request on its way through a loop, and the reply that it must get exactly once."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from vertical_engines.models.refusal import Refusal

FinishReason = Literal["stop", "length"]


@dataclass(frozen=True)
class Generated:
    """`tokens` counts every generated token, the end token included: each has cost a step."""

    text: str
    tokens: int
    finish_reason: FinishReason


class Reply(Protocol):
    """The way back to the caller. The first of answer and fail counts, later calls do nothing."""

    def is_cancelled(self) -> bool: ...

    def answer(self, generated: Generated) -> None: ...

    def fail(self, refusal: Refusal) -> None: ...


@dataclass(frozen=True, eq=False)
class Ticket:
    """`tokens` is whatever the pipeline takes as input: an int64 tensor [1, n] for OpenVINO."""

    tokens: Any
    max_tokens: int
    reply: Reply


class Loop(Protocol):
    """Takes tickets and sees to it that each gets its reply."""

    def submit(self, ticket: Ticket) -> None:
        """Queue a ticket; raises Refusal UNAVAILABLE when no more may wait."""

    def close(self) -> None:
        """End the loop; what is not answered by then fails with UNAVAILABLE."""
