"""The question to the SLM about the best candidate, in the chat template of SmolLM2-Instruct, and the reading of its answer."""

import re
from typing import Literal

from .records import Place

MAX_TOKENS = 4
"""Tokens to generate: the answer is one word."""

FIELD_LIMIT = 64
"""UTF-8 bytes of a field in the prompt. Bytes, since a token holds at least one: so the whole prompt stays under 300 tokens
in any script, while a letter of an alphabet that the SLM hardly knows takes three tokens."""

_SYSTEM = "You compare a receipt with a place. Answer yes or no."

# The order sways a model of this size more than the question does: the other way round it says no to almost everything.
_EXAMPLES = (
    ("Oak Dental Clinic, 7 Park Ave", "Oak Street Books, 40 Harbor Road", "no"),
    ("BLUE HERON CAFE, 12 Mill St", "Blue Heron Cafe, 12 Mill Street", "yes"),
)

_CONTROL = re.compile(r"<\||\|>|[\x00-\x1f\x7f-\x9f]")
_WORD = re.compile(r"[a-z]+")


def _turn(role: str, text: str) -> str:
    return f"<|im_start|>{role}\n{text}<|im_end|>\n"


def _question(receipt: str, place: str) -> str:
    return f"Receipt: {receipt}\nPlace: {place}\nSame place?"


# Always the same beginning, so that a prefix cache computes it once.
_PREFIX = _turn("system", _SYSTEM) + "".join(
    _turn("user", _question(receipt, place)) + _turn("assistant", answer) for receipt, place, answer in _EXAMPLES
)


def clean(text: str) -> str:
    """A field without control characters and chat markers: a receipt must not be able to write turns of its own."""
    # Replaced by a space, never removed: what is left on both sides must not join to a marker again.
    line = " ".join(_CONTROL.sub(" ", text).split())
    return line.encode(errors="ignore")[:FIELD_LIMIT].decode(errors="ignore").rstrip()


def build_prompt(*, name: str, address: str, place: Place) -> str:
    """The whole prompt for one receipt and its best candidate."""
    receipt = ", ".join(part for part in (clean(name), clean(address)) if part)
    listed = ", ".join(part for part in (clean(f"{place.name} {place.branch}"), clean(place.address)) if part)
    return _PREFIX + _turn("user", _question(receipt or "unknown", listed)) + "<|im_start|>assistant\n"


def read_vote(text: str) -> Literal["yes", "no", "unclear"]:
    """What the SLM said: the first yes or no among its first words, else unclear."""
    for word in _WORD.findall(text.casefold())[:MAX_TOKENS]:
        if word == "yes":
            return "yes"
        if word == "no":
            return "no"
    return "unclear"
