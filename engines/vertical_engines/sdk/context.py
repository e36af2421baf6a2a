"""What the children of a request inherit from it: its deadline, its ids, its trace, and the end of the client's interest."""

import time
from typing import Any

from vertical_engines.sdk.errors import ErrorCode, RequestFailure

MICROSECONDS = 1_000_000
"""Triton's unit of a timeout."""

CANCELLATION_INTERVAL = 0.005
"""Seconds between two questions whether the client has cancelled: each costs a round trip to the server process, 0.05 ms
measured, as much as all conversions of a request. A pipeline that is faster than this never asks."""


class Context:
    """One request that is being answered. `deadline` is in seconds of the monotonic clock, None without a timeout.

    Time in Triton's queue is not in it: Triton does not tell. A plain class, since one is made for each request.
    """

    __slots__ = ("_asked", "deadline", "request")

    def __init__(self, *, request: Any, deadline: float | None) -> None:
        self.request, self.deadline, self._asked = request, deadline, time.monotonic()

    @classmethod
    def of(cls, request: Any) -> "Context":
        """The context of a request that has just arrived."""
        timeout = request.timeout()
        return cls(request=request, deadline=time.monotonic() + timeout / MICROSECONDS if timeout else None)

    def cancelled(self) -> bool:
        """Whether the client has cancelled: over gRPC also by its time-out; a closed HTTP connection is not seen by Triton."""
        return bool(self.request.is_cancelled())

    def remaining(self) -> float | None:
        """Seconds until the deadline, or None without one."""
        return None if self.deadline is None else self.deadline - time.monotonic()

    def refuse_what_is_over(self, model: str, step: str) -> None:
        """Raises RequestFailure where nobody waits for the answer any more: CANCELLED, or UNAVAILABLE past the deadline."""
        now = time.monotonic()
        if now - self._asked >= CANCELLATION_INTERVAL:
            self._asked = now
            self._refuse_what_is_cancelled(model, step)
        if self.deadline is not None and self.deadline <= now:
            raise RequestFailure(f"the request's timeout was over before {model} {step}", code=ErrorCode.UNAVAILABLE)

    def _refuse_what_is_cancelled(self, model: str, step: str) -> None:
        if self.cancelled():
            raise RequestFailure(f"cancelled by the client before {model} {step}", code=ErrorCode.CANCELLED)

    def options(self) -> dict[str, Any]:
        """Arguments of a child's `pb_utils.InferenceRequest`. There is none for a priority: Triton keeps it to itself."""
        request = self.request
        inherited: dict[str, Any] = {"request_id": request.request_id(), "trace": request.trace()}
        if correlation := request.correlation_id():
            inherited["correlation_id"] = correlation
        if self.deadline is not None:
            inherited["timeout"] = max(1, int((self.deadline - time.monotonic()) * MICROSECONDS))
        return inherited
