"""Limits of an engine as parameters, against requests, and under a tokenizer that cuts without a word."""

from dataclasses import dataclass

import numpy
import pytest

from vertical_engines.models.limits import DEFAULT_WAITING, Limits
from vertical_engines.models.refusal import Refusal
from vertical_engines.models.tokenizing import PromptTokenizer

PARAMETERS = {"max_input_len": "512", "max_output_len": "32", "max_live_requests": "8"}
LIMITS = Limits.from_parameters(PARAMETERS)


def test_limits_come_from_parameters() -> None:
    assert Limits(512, 32, 544, 8, DEFAULT_WAITING) == LIMITS
    assert Limits.from_parameters({**PARAMETERS, "max_seq_len": "520", "max_waiting_requests": "3"}) == Limits(512, 32, 520, 8, 3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"max_input_len": "0"}, "parameter max_input_len is '0', a number of at least 1 is needed"),
        ({"max_output_len": "many"}, "parameter max_output_len is 'many'"),
        ({"max_live_requests": ""}, "parameter max_live_requests is ''"),
    ],
)
def test_senseless_parameters_are_named(changes: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Limits.from_parameters({**PARAMETERS, **changes})


def test_a_missing_parameter_is_named() -> None:
    with pytest.raises(ValueError, match=r"parameter max_output_len is missing in config\.pbtxt"):
        Limits.from_parameters({"max_input_len": "1", "max_live_requests": "1"})


@pytest.mark.parametrize(("asked", "prompt", "given"), [(None, 10, 32), (None, 520, 24), (1, 10, 1), (32, 512, 32)])
def test_tokens_that_may_be_generated(asked: int | None, prompt: int, given: int) -> None:
    assert LIMITS.resolve_max_tokens(asked=asked, prompt_tokens=prompt) == given


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (0, "max_tokens: 0, at least 1 is needed"),
        (-5, "max_tokens: -5, at least 1 is needed"),
        (33, "max_tokens: 33, max_output_len of this engine is 32"),
        (20, "max_tokens: 20 after a prompt of 505 tokens, max_seq_len of this engine is 520"),
    ],
)
def test_too_many_or_too_few_tokens_are_refused(asked: int, words: str) -> None:
    with pytest.raises(Refusal) as caught:
        Limits(512, 32, 520, 8).resolve_max_tokens(asked=asked, prompt_tokens=505)
    assert (caught.value.code, str(caught.value)) == ("INVALID_ARG", words)


@dataclass
class Encoded:
    input_ids: numpy.ndarray


class WordTokenizer:
    """One token a word; cuts at `cut` tokens, as the tokenizer of an engine does at its context length."""

    def __init__(self, *, cut: int) -> None:
        self._cut = cut
        self.calls = 0

    def get_vocab(self) -> dict[bytes, int]:
        return {b"a": 1, b"longest!": 2}

    def encode(self, text: str) -> Encoded:
        self.calls += 1
        words = text.split()[: self._cut]
        return Encoded(numpy.zeros((1, len(words)) if words else (0, 0), dtype=numpy.int64))


def test_a_prompt_within_the_limit_becomes_tokens() -> None:
    assert PromptTokenizer(WordTokenizer(cut=10_000), limits=LIMITS).encode("a b c").shape == (1, 3)


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("", "prompt: it is empty, at least 1 token is needed"),
        ("a " * 513, "prompt: 513 tokens, max_input_len of this engine is 512"),
    ],
)
def test_a_prompt_over_the_limit_is_refused(prompt: str, words: str) -> None:
    with pytest.raises(Refusal) as caught:
        PromptTokenizer(WordTokenizer(cut=10_000), limits=LIMITS).encode(prompt)
    assert (caught.value.code, str(caught.value)) == ("INVALID_ARG", words)


def test_a_prompt_that_can_not_fit_is_refused_without_tokenizing_it() -> None:
    tokenizer = WordTokenizer(cut=10_000)
    prompts = PromptTokenizer(tokenizer, limits=LIMITS)
    calls = tokenizer.calls
    with pytest.raises(Refusal, match="prompt: at least 125000 tokens, max_input_len of this engine is 512"):
        prompts.encode("a" * 1_000_000)
    assert tokenizer.calls == calls


def test_a_prompt_that_the_tokenizer_would_cut_is_refused_not_cut() -> None:
    prompts = PromptTokenizer(WordTokenizer(cut=100), limits=LIMITS)
    assert prompts.encode("a " * 99).shape == (1, 99)
    with pytest.raises(Refusal, match="prompt: at least 100 tokens, the tokenizer of this engine takes fewer than 100"):
        prompts.encode("a " * 200)
