"""The one error of the harness: what went wrong, and what to do about it."""


class ClusterError(Exception):
    """Carries a message for people; `remedy` says what to do. Never caught to go on silently."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(f"{message}\nWhat to do: {remedy}" if remedy else message)
        self.remedy = remedy
