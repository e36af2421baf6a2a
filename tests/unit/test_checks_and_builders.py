"""What a check lets through the builder of that release takes, and what a check refuses about flags the builder refuses too."""

import itertools
from typing import Any

import pytest

from tests.support.combinations import BAD, Bad, on
from tests.support.objects import service
from tests.support.sound_combinations import GOOD
from vertical_engines.builders.tensorrt_llm.flags import command_line, decoder_options
from vertical_engines.builders.tensorrt_llm.target import build_target
from vertical_engines.contract.engine import EngineIdentity
from vertical_engines.contract.toolchains import matrix
from vertical_engines.failure import Failure
from vertical_operator.api.v1alpha1 import VerticalService, parse
from vertical_operator.core.identity import Target, targets
from vertical_operator.core.policies import findings
from vertical_operator.core.settings import OperatorSettings

BY_BUILDER = {
    "release_lacks_architecture",
    "weights_lack_type",
    "layout_cannot_be_served",
    "flag_is_unknown",
    "flag_value_is_wrong",
    "world_size_differs",
    "int8_cache_meets_paged_attention",
    "kv_cache_type_contradicts",
    "profiles_exclude_optimum",
}
"""Policies about the build; the others are about serving, or about what only an operator sees."""


def identity(content: dict[str, Any]) -> EngineIdentity:
    target = targets(parse(VerticalService, content), OperatorSettings())[0]
    assert isinstance(target, Target)
    return target.identity


def options(wanted: EngineIdentity) -> list[str]:
    return command_line(decoder_options(build_target(wanted, matrix=matrix()), dtype="float16"))


@pytest.mark.parametrize(("name", "changes"), GOOD, ids=[name for name, _ in GOOD])
def test_the_builder_takes_what_the_check_lets_through(name: str, changes: list[tuple[str, Any]]) -> None:
    wanted = identity(service(*changes))
    if wanted.toolchain.backend == "TensorRTLLM":
        row = matrix().release(backend="TensorRTLLM", name=wanted.toolchain.release)
        assert row
        given = [word.removeprefix("--") for word in options(wanted) if word.startswith("--")]
        assert [word for word in given if not row.knows(word)] == []


@pytest.mark.parametrize("row", [row for row in BAD if row.policy in BY_BUILDER], ids=lambda row: row.name)
def test_the_builder_refuses_what_the_check_refuses(row: Bad) -> None:
    wanted = identity(row.content())
    if wanted.toolchain.backend == "TensorRTLLM":
        with pytest.raises(Failure):
            options(wanted)


ONE_OF_EACH = {gpu.sm: product for product, gpu in reversed(matrix().file.gpus.items())}
WEIGHTS = ("source", "float16", "bfloat16", "int8", "fp8")


@pytest.mark.parametrize("release", matrix().release_names("TensorRTLLM"))
def test_they_agree_on_every_architecture_layout_and_number_type(release: str) -> None:
    disagreements = []
    for (sm, product), paged, weights in itertools.product(ONE_OF_EACH.items(), (True, False), WEIGHTS):
        content = service(*on(product, release, paged=paged), ("spec.model.weights", weights))
        refused = {finding.policy for finding in findings(parse(VerticalService, content), OperatorSettings())} & BY_BUILDER
        try:
            options(identity(content))
            taken = True
        except Failure:
            taken = False
        if taken == bool(refused):
            disagreements.append((sm, paged, weights, refused))
    assert disagreements == []
