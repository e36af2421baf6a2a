"""Answers several requests of one model instance at once, for models that mostly wait for their children."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class Workers:
    """At most `count` requests are being answered; the next one waits in Triton's own queue, where metrics see it."""

    def __init__(self, count: int, *, answer: Callable[[Any, Any], None]) -> None:
        """`answer(request, sender)` sends every response, the final flag with or after the last; it must not raise."""
        self._answer = answer
        self._free = threading.BoundedSemaphore(count)
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="request")

    def take(self, request: Any) -> None:
        """Start answering a request, as soon as a worker is free."""
        sender = request.get_response_sender()
        self._free.acquire()
        self._pool.submit(self._work, request, sender)

    def close(self) -> None:
        """Returns when every request is answered."""
        self._pool.shutdown(wait=True)

    def _work(self, request: Any, sender: Any) -> None:
        try:
            self._answer(request, sender)
        finally:
            self._free.release()
