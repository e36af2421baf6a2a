"""Turns whatever goes wrong for one request into its failure, since what leaves execute() takes the whole batch along."""

import asyncio
import traceback
from collections.abc import Callable
from types import TracebackType

from pydantic import ValidationError

from vertical_engines.sdk.errors import ErrorCode, RequestFailure, describe


class Contained:
    """`with Contained(log) as outcome: ...`: afterwards `outcome.failure` is None or what the client is told.

    A RequestFailure stays as it is. Anything else becomes INTERNAL with `Type: message`; its traceback goes to `log`.
    """

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self.failure: RequestFailure | None = None

    def __enter__(self) -> "Contained":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        if error is None:
            return False
        if isinstance(error, RequestFailure):
            self.failure = error
            return True
        # SystemExit and CancelledError too: what ends a worker or a task leaves its caller waiting for ever.
        if not isinstance(error, (Exception, SystemExit, asyncio.CancelledError)):
            return False
        self._log("".join(traceback.format_exception(error)))
        words = describe(error) if isinstance(error, ValidationError) else str(error)
        self.failure = RequestFailure(f"{type(error).__name__}: {words}", code=ErrorCode.INTERNAL)
        return True
