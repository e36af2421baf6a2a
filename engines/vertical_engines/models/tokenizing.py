"""Prompt text to tokens within the limits, with the exact number for the caller who is over them."""

from typing import Any

from vertical_engines.models.limits import Limits
from vertical_engines.models.refusal import Refusal


class PromptTokenizer:
    """`tokenizer` is openvino-genai's. Its graph may cut long texts without a word (the model's context length is built in),
    so the limit that holds is found by trying once."""

    def __init__(self, tokenizer: Any, *, limits: Limits) -> None:
        self._tokenizer = tokenizer
        self._longest = max(map(len, tokenizer.get_vocab()))
        probe = self._count("a b " * (limits.max_input_len + 1))
        self._cut = probe if probe <= limits.max_input_len else None
        self._limits = limits

    def encode(self, prompt: str) -> Any:
        """An int64 tensor [1, n]; raises Refusal INVALID_ARG for an empty or a too long prompt."""
        at_least = -(-len(prompt.encode()) // self._longest)
        if at_least > self._limits.max_input_len:
            # cheaper than tokenizing megabytes, and right: no token stands for more bytes than the longest one
            raise Refusal(
                "INVALID_ARG", f"prompt: at least {at_least} tokens, max_input_len of this engine is {self._limits.max_input_len}"
            )
        if not prompt:
            self._limits.check_prompt(0)
        tokens = self._tokenizer.encode(prompt).input_ids
        count = int(tokens.shape[1])
        if self._cut is not None and count >= self._cut:
            raise Refusal("INVALID_ARG", f"prompt: at least {count} tokens, the tokenizer of this engine takes fewer than {self._cut}")
        self._limits.check_prompt(count)
        return tokens

    def _count(self, text: str) -> int:
        return int(self._tokenizer.encode(text).input_ids.shape[1])
