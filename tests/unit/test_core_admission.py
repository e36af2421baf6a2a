"""The generated ValidatingAdmissionPolicy without a server: it is fresh and complete. Its work is tested on a real cluster."""

from pathlib import Path

import yaml

from tests.support.combinations import BAD
from vertical_engines.contract.toolchains import matrix
from vertical_operator.core.admission.policy import NO_ADDITIONS, admission_policy, admission_yaml, binding
from vertical_operator.core.admission.rules import RULES
from vertical_operator.core.policies import POLICIES

COMMITTED = Path(__file__).parents[2] / "charts" / "vertical-operator" / "files" / "admission-policy.yaml"

BY_OPERATOR_ONLY = {
    "engine_path_is_gone",
    "flag_value_is_wrong",
    "placeholder_is_left",
}
"""Policies that need the rendered configuration, rows that only an installation has, or choices that change with the release."""


def test_the_committed_file_is_fresh() -> None:
    """When this fails: `make generate`."""
    assert COMMITTED.read_text() == admission_yaml(matrix())


def test_the_file_is_policy_and_binding() -> None:
    assert list(yaml.safe_load_all(COMMITTED.read_text())) == [admission_policy(matrix()), binding()]


def test_rules_stand_in_the_order_of_the_policies() -> None:
    """The server reports the first: it has to be the one that a status would show."""
    order = ["unknown_release", *(policy.__name__ for policy in POLICIES)]
    assert [rule.policy for rule in RULES] == [name for name in order if name not in BY_OPERATOR_ONLY]


def test_rows_say_which_findings_are_the_operators_alone() -> None:
    assert {row.policy for row in BAD if not row.admission} <= BY_OPERATOR_ONLY
    assert {row.policy for row in BAD if row.admission} == {rule.policy for rule in RULES}


def test_the_chart_can_fill_in_releases_of_the_installation() -> None:
    first = admission_policy(matrix())["spec"]["variables"][0]
    assert first == {"name": "added", "expression": NO_ADDITIONS}
