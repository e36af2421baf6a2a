"""The page about the checks is fresh and names nothing that is not there."""

import re
from pathlib import Path

from typer.testing import CliRunner

from vertical_operator.cli import app
from vertical_operator.core.policies import POLICIES
from vertical_operator.core.policies.page import RULES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "checks.md"


def test_the_committed_page_is_fresh() -> None:
    """When this fails: `make generate`."""
    assert CliRunner().invoke(app, ["policies"]).stdout == PAGE.read_text()


def test_every_policy_says_what_it_refuses() -> None:
    assert [policy.__name__ for policy in POLICIES if not (policy.__doc__ or "").strip()] == []


def test_all_thirteen_rules_are_there_and_name_policies_that_are() -> None:
    assert [name for name, _, _ in RULES] == [f"R{number}" for number in range(1, 14)]
    named = {word for _, _, where in RULES for word in re.findall(r"[a-z0-9]+(?:_[a-z0-9]+){2,}", where)} - {"max_seq_len"}
    assert named <= {policy.__name__ for policy in POLICIES}
