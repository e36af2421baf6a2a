"""Every policy by a table: what it refuses, in which words, and that nothing that works is refused."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.combinations import BAD, T4, Bad, on
from tests.support.objects import service
from tests.support.sound_combinations import GOOD
from vertical_engines.contract.toolchains import Matrix, matrix
from vertical_operator.api.v1alpha1 import VerticalService, parse
from vertical_operator.core.finding import Finding
from vertical_operator.core.identity import Target, targets
from vertical_operator.core.offline import children
from vertical_operator.core.policies import POLICIES, findings, no_node_has_gpu, objection
from vertical_operator.core.policies.rendered import placeholder_is_left
from vertical_operator.core.policies.toolchain import engine_path_is_gone
from vertical_operator.core.settings import OperatorSettings

EXAMPLES = sorted((Path(__file__).parents[2] / "docs" / "examples").glob("*.yaml"))


def found(content: Any, settings: OperatorSettings | None = None) -> tuple[Finding, ...]:
    return findings(parse(VerticalService, content), settings or OperatorSettings())


def target(*changes: tuple[str, Any]) -> Target:
    made = targets(parse(VerticalService, service(*changes)), OperatorSettings())[0]
    assert isinstance(made, Target)
    return made


@pytest.mark.parametrize("row", BAD, ids=lambda row: row.name)
def test_what_cannot_work_is_refused_with_the_way_out(row: Bad) -> None:
    seen = found(row.content())
    assert [finding.policy for finding in seen] == [row.policy]
    assert (seen[0].field, seen[0].reason) == (row.field, row.reason)
    assert [fragment for fragment in row.fragments if fragment not in seen[0].message] == []
    assert seen[0].message.startswith(row.field)
    assert "\n" not in seen[0].message


@pytest.mark.parametrize(("name", "changes"), GOOD, ids=[name for name, _ in GOOD])
def test_nothing_that_works_is_refused(name: str, changes: list[tuple[str, Any]]) -> None:
    assert [finding.message for finding in found(service(*changes))] == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_no_example_is_refused(example: Path) -> None:
    assert found(yaml.safe_load(example.read_text())) == ()


def test_each_policy_that_an_object_can_violate_has_a_row() -> None:
    by_other_means = {"engine_path_is_gone", "placeholder_is_left"}
    assert {policy.__name__ for policy in POLICIES} - by_other_means == {row.policy for row in BAD} - {"unknown_release"}


def test_what_is_wrong_for_two_placements_alike_is_said_once() -> None:
    two = [("spec.variants.0.placements.1", {"name": "second", "accelerator": {"product": T4, "count": 1}})]
    seen = found(service(*on(T4, "24.10"), *two))
    assert [finding.where for finding in seen] == ["variant realtime, placement cpu"]


def test_everything_that_is_wrong_is_said_at_once() -> None:
    seen = found(service(*on(T4, "24.10", paged=False), ("spec.model.weights", "fp8"), ("spec.variants.0.buildConfig.plugin_config.x", 1)))
    assert [finding.policy for finding in seen] == ["release_lacks_architecture", "weights_lack_type", "flag_is_unknown"]


def test_the_field_of_a_toolchain_is_where_it_is_written() -> None:
    chosen = {"backend": "TensorRTLLM", "release": "25.01"}
    at_placement = found(service(*on(T4, "24.09"), ("spec.variants.0.placements.0.toolchain", chosen)))
    at_variant = found(service(*on(T4, "24.09"), ("spec.variants.0.toolchain", chosen)))
    assert [finding.field for finding in (*at_placement, *at_variant)] == [
        "spec.variants[0].placements[0].toolchain.release",
        "spec.variants[0].toolchain.release",
    ]


def test_a_product_that_no_node_has_is_answered_with_those_that_exist() -> None:
    seen = objection(target(*on(T4, "24.09")), frozenset({"NVIDIA-L4", "NVIDIA-A10"}))
    assert seen
    assert seen.policy == no_node_has_gpu.__name__
    assert "no node has the label nvidia.com/gpu.product=Tesla-T4: products in this cluster: NVIDIA-A10, NVIDIA-L4" in seen.message


def test_offline_the_cluster_is_not_asked_for_products() -> None:
    assert objection(target(*on(T4, "24.09"))) is None


def test_a_release_without_engines_is_refused_whoever_added_it() -> None:
    """R7. The table that is built in has no such row; an installation could add one."""
    row = next(row for row in matrix().releases if row.release == "26.06")
    newer = row.model_copy(update={"release": "27.01", "versions": {**row.versions, "tensorrt_llm": "1.3.0"}})
    grown = matrix().file.model_copy(update={"releases": (*matrix().file.releases, newer)})
    seen = found(service(*on("NVIDIA-L4", "27.01")), OperatorSettings(matrix=Matrix(grown)))
    assert [finding.policy for finding in seen] == [engine_path_is_gone.__name__]
    assert "use backend TensorRTLLMPyTorch, or release 26.06" in seen[0].message


def test_a_placeholder_in_what_is_rendered_is_refused() -> None:
    """R12. No value that the schema lets through brings one there; the policy is the last look."""
    made = target()
    spec = made.service.spec.model_copy(update={"model": made.service.spec.model.model_copy(update={"name": "${model}"})})
    broken = Target(**{**vars(made), "service": made.service.model_copy(update={"spec": spec})})
    assert list(placeholder_is_left(made)) == []
    assert [finding.policy for finding in placeholder_is_left(broken)] == ["placeholder_is_left"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_build_and_runtime_are_one_image(example: Path) -> None:
    """R13 holds by construction: the identity holds one image, and the Job and the Deployment are rendered from it."""
    made = children(parse(VerticalService, yaml.safe_load(example.read_text())), OperatorSettings())
    engines = {body["spec"]["key"]: body["spec"]["identity"]["toolchain"]["image"] for body in made if body["kind"] == "Engine"}
    jobs = [body for body in made if body["kind"] == "Job"]
    servers = [body for body in made if body["kind"] == "Deployment"]
    assert {_image(job, "build") for job in jobs} == set(engines.values())
    for server in servers:
        key = server["metadata"]["annotations"]["serving.vertical-operator.io/engine-key"]
        assert _image(server, "triton") == engines[key]


def _image(body: dict[str, Any], container: str) -> str:
    image: str = next(found["image"] for found in body["spec"]["template"]["spec"]["containers"] if found["name"] == container)
    return image
