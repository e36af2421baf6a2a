"""Why a request is not answered: a Triton error code and a sentence for the caller."""

from typing import Literal

Code = Literal["INVALID_ARG", "UNAVAILABLE", "CANCELLED", "INTERNAL"]


class Refusal(Exception):
    """Raised where a request can't be served; `code` names a member of Triton's TritonError."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code: Code = code

    def to_message(self) -> str:
        """The text of the error. A caller behind a BLS model sees INTERNAL whatever the code was, so the code leads the text."""
        return f"[{self.code}] {self}"
