"""What an installation adds to the matrix: joined when it is sound, refused with the place of each fault when it is not."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.combinations import on
from tests.support.objects import put, service
from tests.support.stand_in_tensorrt_llm.installation import identity
from vertical_engines.builders.tensorrt_llm.target import build_target
from vertical_engines.contract.additions import BadToolchains, extended, needed_for
from vertical_engines.contract.build import REQUEST_VARIABLE, BuildRequest
from vertical_engines.contract.toolchains import matrix
from vertical_operator.api.v1alpha1 import VerticalService, parse
from vertical_operator.core.offline import children
from vertical_operator.core.policies import findings
from vertical_operator.core.settings import OperatorSettings
from vertical_operator.runtime.toolchains import read_toolchains

VALUES = Path(__file__).parents[2] / "charts" / "vertical-operator" / "ci" / "toolchains-values.yaml"
ADDED: dict[str, Any] = yaml.safe_load(VALUES.read_text())["extraToolchains"]
ADDED["flags"] = {"TensorRTLLM": {"site_flag": {"kind": "switch", "since": "1.2.1", "default": "disable", "plugin": True}}}
ON_SITE = on("NVIDIA-X9000", "26.06-site")


def test_an_added_release_is_like_any_other() -> None:
    known = extended(ADDED)
    row = known.release(backend="TensorRTLLM", name="26.06-site")
    assert row
    assert row.knows("site_flag")
    assert row.flags["max_batch_size"].default == 2048, "flags that are built in count for it too"
    assert known.gpu("NVIDIA-X9000")
    content = service(*ON_SITE, ("spec.variants.0.buildConfig.plugin_config.site_flag", True))
    assert findings(parse(VerticalService, content), OperatorSettings(matrix=known)) == ()
    assert [finding.policy for finding in findings(parse(VerticalService, content), OperatorSettings())] == ["unknown_release"]


def test_what_is_built_in_stays_as_it_is() -> None:
    """A flag of the site counts for its version and later ones, wherever they are; releases of before know nothing of it."""
    before, after = matrix(), extended(ADDED)
    old = [row.model_dump() for row in before.releases]
    assert [row.model_dump() for row in after.releases[: len(old)]] == old
    assert [row.release for row in after.releases if row.knows("site_flag")] == ["26.04", "26.05", "26.06", "26.06-site"]
    assert before.release(backend="TensorRTLLM", name="26.06-site") is None


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("releases.0.release", "26.06", "releases[0]: TensorRTLLM 26.06 is there already"),
        ("releases.0.release", 26.1, "releases[0].release: Input should be a valid string (quote it"),
        ("releases.0.backend", "vLLM", "releases[0].backend: Input should be"),
        ("releases.0.pyton", "3.12", "releases[0].pyton: Extra inputs are not permitted"),
        ("releases.0.versions", {"tensorrt": "10"}, "releases[0].versions.tensorrt_llm: missing"),
        ("releases.0.versions", {"tensorrt_llm": "new"}, "releases[0].versions.tensorrt_llm: 'new' is no version"),
        ("releases.0.sm", ["90-80"], "releases[0].sm: "),
        ("releases.0.batching", {"Continuous": ["paged"]}, "releases[0].batching.Continuous"),
        ("gpus.Tesla-T4", {"sm": 80, "memory": 1}, "gpus.Tesla-T4: is built in"),
        ("gpus.NVIDIA-X9000.sm", 999, "gpus.NVIDIA-X9000.sm: 999 is no known architecture"),
        ("flags.TensorRTLLM.max_batch_size", {"kind": "integer", "since": "0.9"}, "flags.TensorRTLLM.max_batch_size: is built in"),
        ("flags.TensorRTLLM.site_flag.since", "soon", "flags.TensorRTLLM.site_flag"),
        ("more", {}, "more: Extra inputs"),
    ],
    ids=str,
)
def test_a_fault_is_named_with_its_place(path: str, value: Any, words: str) -> None:
    content = copy.deepcopy(ADDED)
    put(content, path, value)
    with pytest.raises(BadToolchains) as caught:
        extended(content)
    assert words in str(caught.value)


def test_every_fault_is_named_at_once() -> None:
    content = copy.deepcopy(ADDED)
    put(content, "gpus.Tesla-T4", {"sm": 75, "memory": 1})
    put(content, "releases.0.release", "26.06")
    with pytest.raises(BadToolchains) as caught:
        extended(content)
    assert len(str(caught.value).splitlines()) == 2


def test_the_image_gets_what_it_does_not_have() -> None:
    known = extended(ADDED)
    made = children(parse(VerticalService, service(*ON_SITE)), OperatorSettings(matrix=known))
    job = next(body for body in made if body["kind"] == "Job")
    variables = {entry["name"]: entry["value"] for entry in job["spec"]["template"]["spec"]["containers"][0]["env"]}
    request = BuildRequest.model_validate_json(variables[REQUEST_VARIABLE].replace("$$", "$"))
    assert request.release
    assert request.release.knows("site_flag")
    assert request.release.knows("gemm_plugin")
    plan = json.loads(next(body for body in made if body["kind"] == "ConfigMap")["data"]["serving.json"])
    assert plan["toolchains"]["releases"][0]["release"] == "26.06-site"


def test_of_a_release_that_is_built_in_nothing_is_handed_on() -> None:
    row = matrix().release(backend="TensorRTLLM", name="26.06")
    assert row
    assert needed_for(row, extended(ADDED)) is None


def test_a_gpu_of_the_site_is_handed_to_the_build_that_is_for_it() -> None:
    known = extended({**ADDED, "gpus": {"NVIDIA-X75": {"sm": 75, "memory": 1000}}})
    row = matrix().release(backend="TensorRTLLM", name="24.09")
    assert row
    handed = needed_for(row, known, product="NVIDIA-X75")
    assert handed
    assert set(handed.gpus) == {"NVIDIA-X75"}
    assert handed.releases == ()
    assert needed_for(row, known, product="Tesla-T4") is None
    wanted = identity("24.09", "NVIDIA-X75")
    target = build_target(wanted, matrix=BuildRequest(key=wanted.key(), identity=wanted, toolchains=handed).known)
    assert target.architecture.context_fmha is False, "what its architecture can't do is not built"


def test_a_file_is_read_as_json_or_yaml(tmp_path: Path) -> None:
    for name, text in (("a.json", json.dumps(ADDED)), ("b.yaml", yaml.safe_dump(ADDED))):
        (tmp_path / name).write_text(text)
        assert read_toolchains(str(tmp_path / name)).release(backend="TensorRTLLM", name="26.06-site")
    (tmp_path / "empty").write_text("")
    assert read_toolchains(str(tmp_path / "empty")).releases == read_toolchains(None).releases


@pytest.mark.parametrize(
    ("text", "words"),
    [(None, "No such file"), ("[1]", "expected a map"), ("a: [", "neither JSON nor YAML"), ("gpus: {X: {sm: 80}}", "gpus.X.memory")],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, text: str | None, words: str) -> None:
    path = tmp_path / "toolchains.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(BadToolchains) as caught:
        read_toolchains(str(path))
    assert str(caught.value).startswith(str(path))
    assert words in str(caught.value)
