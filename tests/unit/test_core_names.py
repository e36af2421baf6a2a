"""Names are short enough, stable, and never shared by two children."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertical_operator.api.v1alpha1.metadata import ObjectMeta
from vertical_operator.core.names import child_name, engine_name, labels, listed, owner_reference

SERVICE = st.from_regex(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?", fullmatch=True)
PART = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,18}[a-z0-9])?", fullmatch=True)
LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def test_short_names_are_plain() -> None:
    assert child_name("poi-matching", "realtime", "t4") == "poi-matching-realtime-t4"


def test_a_long_name_is_cut_and_marked() -> None:
    name = child_name("s" * 40, "v" * 20, "p" * 20)
    assert len(name) == 63
    assert re.fullmatch(r"s{40}-v+-[0-9a-f]{8}", name)


def test_parts_that_could_be_split_otherwise_get_a_mark() -> None:
    assert child_name("shop", "a-b", "c") != child_name("shop", "a", "b-c") == "shop-a-b-c"


@given(SERVICE, PART, PART)
def test_every_name_is_a_dns_label(service: str, variant: str, placement: str) -> None:
    assert LABEL.fullmatch(child_name(service, variant, placement))
    assert LABEL.fullmatch(child_name(child_name(service, variant, placement), "0123abcd"))


@given(SERVICE, st.tuples(PART, PART), st.tuples(PART, PART))
def test_two_placements_of_one_service_never_share_a_name(service: str, one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (child_name(service, *one) == child_name(service, *other)) == (one == other)


def test_the_store_is_part_of_an_engines_name() -> None:
    key = "ab" * 32
    assert engine_name(key, store="one") != engine_name(key, store="two")
    assert re.fullmatch(r"engine-ababababab-[0-9a-f]{4}", engine_name(key, store="one"))


def test_labels_hold_only_what_is_given() -> None:
    assert labels(engine="e") == {"app.kubernetes.io/managed-by": "vertical-operator", "serving.vertical-operator.io/engine": "e"}


@pytest.mark.parametrize("controller", [True, False])
def test_owner_reference(controller: bool) -> None:
    metadata = ObjectMeta(name="n", uid="u")
    assert owner_reference("Engine", metadata, controller=controller) == {
        "apiVersion": "serving.vertical-operator.io/v1alpha1",
        "kind": "Engine",
        "name": "n",
        "uid": "u",
        "controller": controller,
        "blockOwnerDeletion": False,
    }


def test_a_long_list_says_that_it_is_cut() -> None:
    assert listed([]) == "none"
    assert listed(["a", "b", "c"], limit=2) == "a, b and 1 more"
