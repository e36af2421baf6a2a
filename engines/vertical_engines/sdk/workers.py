"""Answers several requests of one model instance at once, for models that mostly wait for their children."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class Workers:
    """At most `count` requests are being answered; the next one waits in Triton's own queue, where metrics see it."""

    def __init__(self, count: int, *, respond: Callable[[Any], Any], final_flag: int) -> None:
        self._respond = respond
        self._final_flag = final_flag
        self._free = threading.BoundedSemaphore(count)
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="request")

    def take(self, request: Any) -> None:
        """Start answering a request, as soon as a worker is free."""
        sender = request.get_response_sender()
        self._free.acquire()
        self._pool.submit(self._answer, request, sender)

    def close(self) -> None:
        """Returns when every request is answered."""
        self._pool.shutdown(wait=True)

    def _answer(self, request: Any, sender: Any) -> None:
        try:
            sender.send(self._respond(request), flags=self._final_flag)
        finally:
            self._free.release()
