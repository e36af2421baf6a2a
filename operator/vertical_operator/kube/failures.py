"""What can go wrong with the API server, as exceptions that say what to do next; the server's own words are kept."""

import json
from collections.abc import Mapping

MESSAGE_LIMIT = 1024
"""Characters of the server's words: it repeats whole pod templates in some of its answers."""

RETRYABLE = frozenset({401, 408, 410, 429})
"""401: a token was rotated under us. 410: a list took longer than the server remembers its pages."""


class ClusterFailure(Exception):
    """A request that did not succeed. `code` is the HTTP status, 0 when no answer came."""

    def __init__(self, message: str, *, code: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class Transient(ClusterFailure):
    """Try again later; `retry_after` seconds when the server named them."""

    def __init__(self, message: str, *, code: int = 0, retry_after: float | None = None) -> None:
        super().__init__(message, code=code)
        self.retry_after = retry_after


class Conflict(Transient):
    """A uid or resourceVersion precondition did not hold, or another manager owns a field: look again, then decide."""


class Terminal(ClusterFailure):
    """The server refused the request and would refuse it again: the message says why."""


class Gone(ClusterFailure):
    """The object, or the namespace around it, does not exist or is going away."""


def failure_of(code: int, body: str, *, headers: Mapping[str, str]) -> ClusterFailure:
    """Translate an answer of the API server. Total: any code and any body give a failure."""
    message = _words(body) or f"HTTP {code}"
    if code == 404 or (code == 403 and "because it is being terminated" in message):
        return Gone(message, code=code)
    if code == 409:
        return Conflict(message, code=code, retry_after=_retry_after(headers))
    if code in RETRYABLE or code >= 500:
        return Transient(message, code=code, retry_after=_retry_after(headers))
    return Terminal(message, code=code)


def no_answer(error: BaseException) -> Transient:
    """A time-out, a refused or a broken connection."""
    return Transient(f"no answer from the API server: {str(error) or type(error).__name__}")


def _words(body: str) -> str:
    """The message of a Status object, else the text itself, in one line and bounded."""
    try:
        content = json.loads(body)
    except ValueError:
        content = body
    words = content.get("message") or content.get("reason") or "" if isinstance(content, dict) else body
    line = " ".join(str(words).split())
    return line if len(line) <= MESSAGE_LIMIT else line[: MESSAGE_LIMIT - 1] + "…"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds of the Retry-After header; dates, which the API server never sends, are ignored."""
    value = next((value for name, value in headers.items() if name.lower() == "retry-after"), "")
    return float(value) if value.isdecimal() else None
