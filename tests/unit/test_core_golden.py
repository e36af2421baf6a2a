"""Everything that is rendered for the examples, against golden files.

A changed pod template restarts every server on an upgrade of the operator: a diff here must be meant. `GOLDEN_WRITE=1` writes them anew.
"""

import os
from pathlib import Path

import pytest
import yaml

from vertical_operator.api.v1alpha1 import VerticalService, parse
from vertical_operator.core.document import documents
from vertical_operator.core.offline import children
from vertical_operator.core.settings import OperatorSettings

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
GOLDEN = Path(__file__).parent / "golden"


def rendered(example: Path) -> str:
    return documents(children(parse(VerticalService, yaml.safe_load(example.read_text())), OperatorSettings()))


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_children_of_the_examples(example: Path) -> None:
    text, golden = rendered(example), GOLDEN / example.name
    if os.environ.get("GOLDEN_WRITE"):
        golden.write_text(text)
    assert text == golden.read_text()


def test_no_golden_file_is_left_over() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == {path.name for path in EXAMPLES.glob("*.yaml")}
