"""Tells when a watch had to start over from a list: what was deleted in the gap makes no event, so everything must be looked at."""


class RelistDetector:
    """Remembers the uids it has seen. A listed object that was known already can only come from a second list."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def is_relist(self, event_type: str | None, *, uid: str) -> bool:
        """`event_type` as kopf gives it: None for an object of a list, else ADDED, MODIFIED or DELETED."""
        if event_type == "DELETED":
            self._known.discard(uid)
            return False
        again = event_type is None and uid in self._known
        self._known.add(uid)
        return again
