"""Makes receipts of places: upper case, cut names, typing and OCR errors, phones in any form, fields that are missing."""

import random
import string
from dataclasses import dataclass

from verticals.poi_matching.logic.records import Place
from verticals.poi_matching.schemas import BlsRequest

SHORT_FORMS = (("Street", "St"), ("Avenue", "Ave"), ("Road", "Rd"), ("Lane", "Ln"), ("Boulevard", "Blvd"), ("Square", "Sq"))

LOOKALIKES = {"o": "0", "0": "o", "l": "1", "1": "l", "i": "1", "s": "5", "5": "s", "b": "8", "8": "b", "e": "c", "m": "rn"}
"""What OCR takes for what."""


@dataclass(frozen=True)
class Noise:
    """Chances between 0 and 1, each drawn on its own for each receipt or letter."""

    letter_error: float = 0.03
    digit_error: float = 0.015
    cut_name: float = 0.15
    drop_word: float = 0.1
    upper: float = 0.5
    no_branch: float = 0.4
    branch_in_name: float = 0.3
    no_biznum: float = 0.6
    no_tel: float = 0.35
    other_tel: float = 0.05
    no_address: float = 0.2
    cut_address: float = 0.25


HARD = Noise(letter_error=0.08, digit_error=0.04, cut_name=0.3, no_biznum=0.9, no_tel=0.7, other_tel=0.1, no_address=0.35, cut_address=0.5)
"""A bad printer and a bad scan: mostly only name and parts of the address are left."""


def make_receipt(place: Place, *, rng: random.Random, noise: Noise) -> BlsRequest:
    """One receipt of a place; `rng` decides, so a seed gives the same receipts again."""
    name, branch = place.name, place.branch
    if branch and rng.random() < noise.branch_in_name:
        name, branch = f"{name} {branch}", ""
    if rng.random() < noise.no_branch:
        branch = ""
    return BlsRequest(
        name=_case(_misread(_shorten(name, rng, noise), rng, noise.letter_error), rng, noise),
        subname=_case(_misread(branch, rng, noise.letter_error), rng, noise) or None,
        biznum=None if rng.random() < noise.no_biznum else _misread_digits(place.biznum, rng, noise),
        address=None if rng.random() < noise.no_address else _address(place.address, rng, noise),
        tel=None if rng.random() < noise.no_tel else [_phone(place.tel, rng, noise)],
    )


def _shorten(name: str, rng: random.Random, noise: Noise) -> str:
    words = name.split()
    if len(words) > 2 and rng.random() < noise.drop_word:
        words.pop(rng.randrange(len(words)))
    name = " ".join(words)
    return name[: max(6, len(name) * 2 // 3)] if rng.random() < noise.cut_name else name


def _misread(text: str, rng: random.Random, chance: float) -> str:
    letters = []
    for letter in text:
        if letter == " " or rng.random() >= chance:
            letters.append(letter)
            continue
        kind = rng.randrange(3)
        if kind == 0:
            letters.append(LOOKALIKES.get(letter.lower(), rng.choice(string.ascii_lowercase)))
        elif kind == 1:
            letters.append(letter * 2)
    return "".join(letters)


def _misread_digits(text: str, rng: random.Random, noise: Noise) -> str:
    return "".join(rng.choice(string.digits) if letter.isdigit() and rng.random() < noise.digit_error else letter for letter in text)


def _case(text: str, rng: random.Random, noise: Noise) -> str:
    return text.upper() if rng.random() < noise.upper else text


def _address(address: str, rng: random.Random, noise: Noise) -> list[str]:
    for word, short in SHORT_FORMS:
        if rng.random() < 0.5:
            address = address.replace(word, short)
    street, district, city = address.split(", ")
    lines = [street] if rng.random() < noise.cut_address else [street, f"{district}, {city}"]
    return [_case(_misread(line, rng, noise.letter_error), rng, noise) for line in lines]


def _phone(tel: str, rng: random.Random, noise: Noise) -> str:
    if rng.random() < noise.other_tel:
        return f"555-{rng.randint(200, 999)}-{rng.randint(0, 9999):04d}"
    digits = _misread_digits("".join(letter for letter in tel if letter.isdigit()), rng, noise)
    area, exchange, line = digits[:3], digits[3:6], digits[6:]
    return rng.choice(
        (
            f"({area}) {exchange}-{line}",
            f"{area}-{exchange}-{line}",
            f"+1 {area} {exchange} {line}",
            digits,
            f"TEL {area}.{exchange}.{line}",
        )
    )
