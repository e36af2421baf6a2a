"""Pairwise features of a receipt and a place, and the score that they add up to."""

import math
from dataclasses import dataclass

from .records import Comparable
from .similarity import similarity


@dataclass(frozen=True)
class Features:
    """Similarities are 0 to 1 and None where a side lacks the field; `cosine` is -1 to 1."""

    cosine: float
    name: float | None
    branch: float | None
    address: float | None
    house_equal: bool | None
    phone_equal: bool | None
    biznum_equal: bool | None


BIAS = -3.0
COSINE_WEIGHT = 4.0
NAME_WEIGHT = 7.0
BRANCH_WEIGHT = 4.0
ADDRESS_WEIGHT = 6.0
MIDDLE = 0.5
"""A similarity of one half speaks neither for nor against."""
HOUSE = (1.0, -2.0)
PHONE = (4.0, -1.5)
BIZNUM = (6.0, -1.5)
"""Log odds when the numbers agree and when they differ. One misread digit makes them differ, so that weighs less."""


def compare(receipt: Comparable, place: Comparable, *, cosine: float) -> Features:
    """Features of one pair."""
    # Receipts print the branch now after the name, now on its own line: both readings are tried.
    names = [
        similarity(receipt.name, place.name),
        similarity(f"{receipt.name} {receipt.branch}".strip(), f"{place.name} {place.branch}".strip()),
        similarity(receipt.name, f"{place.name} {place.branch}".strip()),
    ]
    return Features(
        cosine=cosine,
        name=max((value for value in names if value is not None), default=None),
        branch=similarity(receipt.branch, place.branch),
        address=similarity(receipt.address, place.address),
        house_equal=_equal(receipt.house, place.house),
        phone_equal=bool(receipt.phones & place.phones) if receipt.phones and place.phones else None,
        biznum_equal=_equal(receipt.biznum, place.biznum),
    )


def _equal(one: str, other: str) -> bool | None:
    return one == other if one and other else None


def score(features: Features) -> float:
    """Probability-like score between 0 and 1: a logistic sum with weights set by hand, missing features weigh nothing."""
    total = BIAS + COSINE_WEIGHT * features.cosine
    for weight, value in ((NAME_WEIGHT, features.name), (BRANCH_WEIGHT, features.branch), (ADDRESS_WEIGHT, features.address)):
        total += weight * (value - MIDDLE) if value is not None else 0.0
    for (agree, differ), equal in ((HOUSE, features.house_equal), (PHONE, features.phone_equal), (BIZNUM, features.biznum_equal)):
        total += 0.0 if equal is None else agree if equal else differ
    return 1 / (1 + math.exp(-total))
