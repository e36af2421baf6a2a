"""Makes the places: `python -m verticals.poi_matching.synthesis.places > data/places.jsonl` writes the committed file again."""

import random
import sys
from collections.abc import Iterator

from verticals.poi_matching.logic.records import Place
from verticals.poi_matching.synthesis.city import CHAINS, DISTRICTS, FIRST, KINDS, OWNERS, SECOND, STREETS

SEED = 20250301
LISTED = 400
UNLISTED = 100
"""Places of the same city that are not in the list: their receipts must not match."""

NEIGHBOUR_SHARE = 0.06
"""Share of places in the house of the place before: same address, another business."""


def make_places(count: int, *, seed: int = SEED) -> list[Place]:
    """The first `count` places of the city; always the same for one seed. Names, phones and business numbers are unique per place."""
    rng = random.Random(seed)
    places: list[Place] = []
    names = _names(rng)
    address = ""
    for number in range(count):
        name, branch, category = next(names)
        district = branch or rng.choice(DISTRICTS)
        if not address or rng.random() >= NEIGHBOUR_SHARE:
            address = f"{rng.randint(1, 180)} {rng.choice(STREETS)}, {district}, Port Maren"
        tel = f"(555) {rng.randint(200, 999)}-{number:04d}"
        biznum = f"{rng.randint(101, 899)}-{rng.randint(10, 99)}-{rng.randint(0, 9)}{number:04d}"
        places.append(
            Place(place_id=f"poi-{number:04d}", name=name, branch=branch, category=category, address=address, tel=tel, biznum=biznum)
        )
    return places


def listed_and_unlisted() -> tuple[list[Place], list[Place]]:
    """The places of the list, and others of the same city."""
    everything = make_places(LISTED + UNLISTED)
    return everything[:LISTED], everything[LISTED:]


def _names(rng: random.Random) -> Iterator[tuple[str, str, str]]:
    """Name, branch and category, endlessly: a fifth are branches of chains, some names differ in one word only."""
    branches = [(name, district, category) for name, category in CHAINS for district in DISTRICTS]
    rng.shuffle(branches)
    used: set[str] = set()
    while True:
        if branches and rng.random() < 0.2:
            yield branches.pop()
            continue
        kind, category = rng.choice(KINDS)
        name = f"{rng.choice(OWNERS)}'s {kind}" if rng.random() < 0.2 else f"{rng.choice(FIRST)} {rng.choice(SECOND)} {kind}"
        if name not in used:
            used.add(name)
            yield name, "", category


def to_lines(places: list[Place]) -> str:
    """The places file."""
    return "".join(place.model_dump_json() + "\n" for place in places)


if __name__ == "__main__":
    sys.stdout.write(to_lines(listed_and_unlisted()[0]))
