"""Failures that people read: a reason of the enumeration, what happened and what to do, and the exit code that follows."""

from vertical_engines.contract.build import EXIT_RETRYABLE, EXIT_USER_ERROR, BuildFailure
from vertical_engines.contract.reasons import Reason

RETRYABLE = frozenset(
    {
        Reason.STORE_FULL,
        Reason.STORE_UNAVAILABLE,
        Reason.MODEL_SOURCE_UNAVAILABLE,
        Reason.BUILD_FAILED,
        Reason.BUILD_OUT_OF_MEMORY,
        Reason.ENGINE_MISSING,
        Reason.ENGINE_CORRUPT,
    }
)
"""Reasons whose cause may be gone at a later attempt. Every other one fails the Job at once."""


class Failure(Exception):
    """Ends a command: `reason` from the enumeration, `message` for people, `log` the last lines of whatever failed."""

    def __init__(self, reason: Reason, message: str, *, log: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.log = log

    @property
    def exit_code(self) -> int:
        return EXIT_RETRYABLE if self.reason in RETRYABLE else EXIT_USER_ERROR

    def to_contract(self) -> BuildFailure:
        return BuildFailure(reason=self.reason, message=self.message, log=list(self.log))


class Interrupted(Failure):
    """SIGTERM came: the pod is being deleted or evicted, or the Job's deadline has passed."""

    def __init__(self) -> None:
        super().__init__(
            Reason.BUILD_FAILED,
            "ended by SIGTERM before the engine was published: the pod was deleted or evicted, or the Job's deadline passed; "
            "nothing half-written can be served, the next attempt starts afresh",
        )

    @property
    def exit_code(self) -> int:
        return 128 + 15
