"""The models accept and refuse what the table says; the contract's examples are accepted as they are."""

from pathlib import Path

import pytest
import yaml

from tests.support.objects import Case, cases, service
from vertical_operator.api.v1alpha1 import InvalidObject, VerticalService, parse

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.name)
def test_table(case: Case) -> None:
    if case.valid:
        parse(VerticalService, case.content)
        return
    with pytest.raises(InvalidObject) as refusal:
        parse(VerticalService, case.content)
    assert case.fragment in str(refusal.value)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_examples_are_valid(path: Path) -> None:
    parse(VerticalService, yaml.safe_load(path.read_text()))


def test_an_error_names_the_field() -> None:
    with pytest.raises(InvalidObject, match=r"^spec\.variants\[0\]\.buildConfig\.max_batch_size: "):
        parse(VerticalService, service(("spec.variants.0.buildConfig.max_batch_size", 0)))


def test_both_ways_to_limit_the_answer_are_the_same_flags() -> None:
    by_output = parse(VerticalService, service())
    by_sequence = parse(
        VerticalService,
        service(("spec.variants.0.buildConfig", {"max_input_len": 256, "max_seq_len": 272, "max_batch_size": 1})),
    )
    plugin = {"plugin_config": {"paged_kv_cache": True}, "kv_layout": "paged"}
    assert by_sequence.spec.variants[0].build_config.flags() == by_output.spec.variants[0].build_config.flags().model_copy(update=plugin)


@pytest.mark.parametrize(("paged", "batching"), [(True, "InFlight"), (False, "Static")])
def test_batching_follows_the_cache(paged: bool, batching: str) -> None:
    content = service(("spec.variants.0.buildConfig.plugin_config.paged_kv_cache", paged))
    assert parse(VerticalService, content).spec.variants[0].effective_batching == batching
