"""The third use of the policies: a service that breaks one is Stalled with the same words, and nothing that works is."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.combinations import BAD, Bad
from tests.support.live import NOW, owned_service
from tests.support.objects import service
from tests.support.sound_combinations import GOOD
from vertical_operator.core.observed import ObservedService
from vertical_operator.core.plan import plan
from vertical_operator.core.policies import findings
from vertical_operator.core.settings import OperatorSettings

EXAMPLES = sorted((Path(__file__).parents[2] / "docs" / "examples").glob("*.yaml"))


def stalled(content: dict[str, Any]) -> tuple[str, str, str]:
    """Status, reason and message of the condition, in a cluster that has every GPU that is asked for."""
    wanted = owned_service(content)
    accelerators = [placement.accelerator for variant in wanted.spec.variants for placement in variant.placements]
    nodes = [
        {"kind": "Node", "metadata": {"name": f"node-{number}", "labels": {"nvidia.com/gpu.product": accelerator.product}}}
        for number, accelerator in enumerate(accelerators)
        if accelerator
    ]
    status = plan(wanted, ObservedService.of(nodes), settings=OperatorSettings(), now=NOW).status
    assert status
    found = next(condition for condition in status["conditions"] if condition["type"] == "Stalled")
    return found["status"], found["reason"], found.get("message", "")


@pytest.mark.parametrize("row", BAD, ids=lambda row: row.name)
def test_the_status_says_what_the_check_says(row: Bad) -> None:
    said = findings(owned_service(row.content()), OperatorSettings())[0].message
    assert stalled(row.content()) == ("True", row.reason.value, said)


@pytest.mark.parametrize(("name", "changes"), GOOD, ids=[name for name, _ in GOOD])
def test_nothing_that_works_is_stalled(name: str, changes: list[tuple[str, Any]]) -> None:
    assert stalled(service(*changes))[0] == "False"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_no_example_is_stalled(example: Path) -> None:
    assert stalled(yaml.safe_load(example.read_text()))[0] == "False"
