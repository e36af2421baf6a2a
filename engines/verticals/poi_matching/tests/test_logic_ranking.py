"""Similarity, features, search and decision."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verticals.poi_matching.logic.decision import MARGIN, THRESHOLD, decide
from verticals.poi_matching.logic.features import Features, compare, score
from verticals.poi_matching.logic.records import Comparable, Place, comparable, comparable_place
from verticals.poi_matching.logic.retrieval import PlaceIndex, Ranked
from verticals.poi_matching.logic.similarity import similarity, trigram_similarity, word_overlap

NOTHING = Features(cosine=0.5, name=None, branch=None, address=None, house_equal=None, phone_equal=None, biznum_equal=None)


def place(number: int, **fields: str) -> Place:
    return Place(place_id=f"p{number}", **{"name": f"place {number}", "address": f"{number} Mill Street", **fields})


def ranked(*scores: float) -> list[Ranked]:
    return [Ranked(place(number), NOTHING, value) for number, value in enumerate(scores)]


def receipt(name: str = "", *, branch: str = "", address: str = "", phone: str = "", biznum: str = "") -> Comparable:
    return comparable(name=name, branch=branch, address=[address], phones=[phone], biznum=biznum)


@given(st.text(), st.text())
def test_similarity_is_symmetric_and_between_0_and_1(one: str, other: str) -> None:
    for measure in (trigram_similarity, word_overlap):
        assert 0 <= measure(one, other) <= 1
        assert measure(one, other) == measure(other, one)
    assert (similarity(one, other) is None) == (not one or not other)


def test_equal_texts_are_as_alike_as_can_be() -> None:
    assert similarity("blue heron", "blue heron") == 1
    assert similarity("blue heron", "xyz") == 0


def test_a_typing_error_costs_less_than_another_word() -> None:
    assert (similarity("b1ue heron cafe", "blue heron cafe") or 0) > (similarity("red heron cafe", "blue heron cafe") or 0)


def test_the_branch_may_stand_in_the_name() -> None:
    chain = comparable_place(place(1, name="Blue Heron", branch="Uptown"))
    assert compare(receipt("BLUE HERON UPTOWN"), chain, cosine=0).name == 1
    assert compare(receipt("Blue Heron", branch="uptown"), chain, cosine=0).branch == 1


def test_a_missing_field_is_neither_equal_nor_different() -> None:
    features = compare(receipt("a"), comparable_place(place(1, tel="555 014 2381", biznum="101-22-33440")), cosine=0)
    assert (features.phone_equal, features.biznum_equal, features.address, features.branch) == (None, None, None, None)


@pytest.mark.parametrize("field", ["phone_equal", "biznum_equal", "house_equal"])
def test_agreement_raises_the_score_and_difference_lowers_it(field: str) -> None:
    assert score(replace(NOTHING, **{field: False})) < score(NOTHING) < score(replace(NOTHING, **{field: True}))


@pytest.mark.parametrize("field", ["name", "branch", "address"])
def test_likeness_raises_the_score(field: str) -> None:
    low, high = ({field: value} for value in (0.1, 0.9))
    assert score(replace(NOTHING, **low)) < score(NOTHING) < score(replace(NOTHING, **high))  # type: ignore[arg-type]


similarities = st.none() | st.floats(0, 1)
equalities = st.none() | st.booleans()
features = st.builds(
    Features, cosine=st.floats(-1, 1), name=similarities, branch=similarities, address=similarities, house_equal=equalities,
    phone_equal=equalities, biznum_equal=equalities,
)  # fmt: skip


@given(features)
def test_a_score_is_between_0_and_1(pair: Features) -> None:
    assert 0 < score(pair) < 1
    assert math.isfinite(score(pair))


def test_a_clear_leader_matches() -> None:
    assert decide(ranked(THRESHOLD + 0.1, THRESHOLD - 0.2)) is not None
    assert decide(ranked(THRESHOLD)) is not None


@pytest.mark.parametrize("scores", [(), (THRESHOLD - 0.001,), (0.9, 0.9), (0.9, 0.9 - MARGIN / 2)])
def test_a_weak_or_shared_lead_does_not(scores: tuple[float, ...]) -> None:
    assert decide(ranked(*scores)) is None


def unit(angle: float) -> list[float]:
    return [math.cos(angle), math.sin(angle)]


def test_search_ranks_by_score_and_finds_equal_numbers_outside_the_neighbourhood() -> None:
    places = [place(number, tel=f"555 014 {number:04d}") for number in range(60)]
    vectors = np.array([unit(number * math.pi / 60) for number in range(60)], np.float32)
    index = PlaceIndex(places, vectors)
    found = index.search(vectors[0], receipt(phone="(555) 014-0059", address="59 Mill St"), limit=5)
    assert found[0].place.place_id == "p59"
    assert found[0].features.cosine < 0, "the cosine search alone would have missed it"
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert len(found) == 5


def test_search_works_with_fewer_places_than_neighbours() -> None:
    index = PlaceIndex([place(1)], np.array([unit(0)], np.float32))
    assert [one.place.place_id for one in index.search(np.array(unit(1), np.float32), receipt("place 1"), limit=5)] == ["p1"]


def test_places_and_vectors_must_go_together() -> None:
    with pytest.raises(ValueError, match="2 places need as many vectors"):
        PlaceIndex([place(1), place(2)], np.zeros((1, 2), np.float32))
