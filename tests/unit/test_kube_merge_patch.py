"""The smallest merge patch: applied to the live value it gives the wanted one, and nothing to do gives nothing."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.memory_cluster import merge_patched
from vertical_operator.kube.merge_patch import merge_patch

NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.recursive(
    st.integers(0, 3) | st.text(max_size=2) | st.booleans(),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(NAMES, v, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=3)


@given(live=OBJECTS, wanted=OBJECTS)
def test_the_patch_turns_the_live_value_into_the_wanted_one(live: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert merge_patched(live, merge_patch(live, wanted)) == wanted


@given(live=OBJECTS)
def test_equal_values_need_no_patch(live: dict[str, Any]) -> None:
    assert merge_patch(live, live) == {}


def test_only_what_differs_is_in_the_patch() -> None:
    live = {"same": 1, "gone": 2, "inner": {"same": [1], "changed": 1, "gone": 1}}
    wanted = {"same": 1, "inner": {"same": [1], "changed": 2}, "new": {"x": 1}}
    assert merge_patch(live, wanted) == {"gone": None, "inner": {"changed": 2, "gone": None}, "new": {"x": 1}}
