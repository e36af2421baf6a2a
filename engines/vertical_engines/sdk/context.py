"""What the children of a request inherit from it: its deadline, its ids, its trace, and the end of the client's interest."""

import time
from dataclasses import dataclass
from typing import Any

from vertical_engines.sdk.errors import ErrorCode, RequestFailure

MICROSECONDS = 1_000_000
"""Triton's unit of a timeout."""


@dataclass(frozen=True)
class Context:
    """One request that is being answered."""

    request: Any
    deadline: float | None
    """In seconds of the monotonic clock; None without a timeout. Time in Triton's queue is not in it: Triton does not tell."""

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

    def refuse_what_is_over(self, what: str) -> None:
        """Raises RequestFailure where nobody waits for the answer any more: CANCELLED, or UNAVAILABLE past the deadline."""
        if self.cancelled():
            raise RequestFailure(f"cancelled by the client before {what}", code=ErrorCode.CANCELLED)
        remaining = self.remaining()
        if remaining is not None and remaining <= 0:
            raise RequestFailure(f"the request's timeout was over before {what}", code=ErrorCode.UNAVAILABLE)

    def options(self) -> dict[str, Any]:
        """Arguments of a child's `pb_utils.InferenceRequest`. There is none for a priority: Triton keeps it to itself."""
        request, remaining = self.request, self.remaining()
        inherited: dict[str, Any] = {"request_id": request.request_id(), "trace": request.trace()}
        if correlation := request.correlation_id():
            inherited["correlation_id"] = correlation
        if remaining is not None:
            inherited["timeout"] = max(1, int(remaining * MICROSECONDS))
        return inherited
