"""The pinned packages of the OpenVINO image follow the project's own bounds and the compatibility matrix."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

from vertical_engines.contract.toolchains import release

ROOT = Path(__file__).parents[2]
PINNED = dict(
    line.split("==")
    for line in (ROOT / "engines" / "openvino-requirements.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
)


def test_every_bound_of_the_project_is_kept() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [Requirement(text) for text in [*project["dependencies"], *project["optional-dependencies"]["engines"]]]
    assert {requirement.name for requirement in wanted} <= PINNED.keys()
    broken = [str(requirement) for requirement in wanted if not requirement.specifier.contains(PINNED[requirement.name])]
    assert broken == []


def test_the_matrix_names_the_versions_that_the_image_holds() -> None:
    row = release(backend="OpenVINO", name="2026.4")
    assert row
    assert row.versions == {name: PINNED[name.replace("_", "-")] for name in row.versions}


def test_the_dockerfile_installs_from_that_list_and_nothing_else() -> None:
    dockerfile = (ROOT / "engines" / "openvino.Dockerfile").read_text(encoding="utf-8")
    assert re.findall(r"pip install (.*)", dockerfile) == ["--no-cache-dir --no-deps --no-compile -r /requirements.txt"]


def test_the_tensorrt_llm_image_adds_what_our_commands_need_and_no_more() -> None:
    """numpy is NVIDIA's: TensorRT-LLM is compiled against it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = (ROOT / "engines" / "tensorrt-llm-requirements.txt").read_text(encoding="utf-8").splitlines()
    added = {str(Requirement(line)) for line in lines if line and not line.startswith("#")}
    wanted = {str(Requirement(text)) for text in [*project["dependencies"], *project["optional-dependencies"]["tensorrt-llm"]]}
    assert added == {text for text in wanted if not text.startswith("numpy")}
