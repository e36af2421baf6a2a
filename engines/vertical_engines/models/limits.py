"""Limits of an engine while it serves: what its manifest promises, and what a request may ask for."""

from collections.abc import Mapping
from dataclasses import dataclass

from vertical_engines.models.refusal import Refusal

DEFAULT_WAITING = 64
"""Requests that may wait for a place; more are refused at once, so that callers can go elsewhere."""


@dataclass(frozen=True)
class Limits:
    """Lengths in tokens, the other two in requests."""

    max_input_len: int
    max_output_len: int
    max_seq_len: int
    max_live_requests: int
    max_waiting_requests: int = DEFAULT_WAITING

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, str]) -> "Limits":
        """From the parameters of config.pbtxt; ValueError names a missing or senseless one."""
        lengths = {name: _positive(parameters, name) for name in ("max_input_len", "max_output_len", "max_live_requests")}
        both = lengths["max_input_len"] + lengths["max_output_len"]
        return cls(
            **lengths,
            max_seq_len=_positive(parameters, "max_seq_len", default=both),
            max_waiting_requests=_positive(parameters, "max_waiting_requests", default=DEFAULT_WAITING),
        )

    def check_prompt(self, tokens: int) -> None:
        """Refuse an empty or too long prompt."""
        if tokens < 1:
            raise Refusal("INVALID_ARG", "prompt: it is empty, at least 1 token is needed")
        if tokens > self.max_input_len:
            raise Refusal("INVALID_ARG", f"prompt: {tokens} tokens, max_input_len of this engine is {self.max_input_len}")

    def resolve_max_tokens(self, *, asked: int | None, prompt_tokens: int) -> int:
        """How many tokens may be generated; nothing asked for means as many as the engine allows."""
        room = self.max_seq_len - prompt_tokens
        if asked is None:
            return min(self.max_output_len, room)
        if asked < 1:
            raise Refusal("INVALID_ARG", f"max_tokens: {asked}, at least 1 is needed")
        if asked > self.max_output_len:
            raise Refusal("INVALID_ARG", f"max_tokens: {asked}, max_output_len of this engine is {self.max_output_len}")
        if asked > room:
            raise Refusal(
                "INVALID_ARG",
                f"max_tokens: {asked} after a prompt of {prompt_tokens} tokens, max_seq_len of this engine is {self.max_seq_len}",
            )
        return asked


def _positive(parameters: Mapping[str, str], name: str, *, default: int | None = None) -> int:
    text = parameters.get(name)
    if text is None:
        if default is None:
            raise ValueError(f"parameter {name} is missing in config.pbtxt")
        return default
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"parameter {name} is {text!r}, a number of at least 1 is needed")
    return int(text)
