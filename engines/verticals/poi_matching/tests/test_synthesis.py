"""The made-up data is reproducible and hard in the ways it claims to be."""

import random
from collections import Counter

from verticals.poi_matching.index import read_places
from verticals.poi_matching.make_index import PLACES
from verticals.poi_matching.synthesis.places import LISTED, UNLISTED, listed_and_unlisted, make_places, to_lines
from verticals.poi_matching.synthesis.receipts import HARD, Noise, make_receipt


def test_the_committed_places_are_what_the_generator_makes() -> None:
    assert PLACES.read_text(encoding="utf-8") == to_lines(listed_and_unlisted()[0])


def test_places_differ_where_they_must() -> None:
    places = make_places(LISTED + UNLISTED)
    for key in ("place_id", "tel", "biznum"):
        assert len({getattr(place, key) for place in places}) == len(places)
    assert len({(place.name, place.branch) for place in places}) == len(places)


def test_the_list_has_chains_and_shared_addresses() -> None:
    places = read_places(PLACES)
    names = Counter(place.name for place in places)
    assert sum(count > 1 for count in names.values()) >= 8
    assert max(Counter(place.address for place in places).values()) >= 2


def test_no_unlisted_place_is_listed() -> None:
    listed, unlisted = listed_and_unlisted()
    assert not {(place.name, place.branch) for place in listed} & {(place.name, place.branch) for place in unlisted}


def test_a_seed_gives_the_same_receipts_and_another_seed_others() -> None:
    place = make_places(1)[0]

    def receipts(seed: int) -> list[object]:
        rng = random.Random(seed)
        return [make_receipt(place, rng=rng, noise=HARD) for _ in range(20)]

    assert receipts(1) == receipts(1)
    assert receipts(1) != receipts(2)


def test_every_kind_of_noise_happens() -> None:
    rng, places = random.Random(3), make_places(200)
    receipts = [(place, make_receipt(place, rng=rng, noise=Noise())) for place in places]
    assert any(receipt.tel is None for _, receipt in receipts)
    assert any(receipt.address is None for _, receipt in receipts)
    assert any(receipt.biznum is None for _, receipt in receipts)
    assert any(receipt.name and receipt.name.isupper() for _, receipt in receipts)
    assert any(receipt.name and len(receipt.name) < len(place.name) * 0.8 for place, receipt in receipts)
    assert any(receipt.tel and receipt.tel != [place.tel] for place, receipt in receipts)
    assert any(receipt.address and len(receipt.address) == 1 for _, receipt in receipts)
