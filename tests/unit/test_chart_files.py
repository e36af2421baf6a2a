"""The chart's files without Helm: definitions are byte copies, values and their schema agree, the image is the one that is built."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

PROJECT = Path(__file__).parents[2]
CHART = PROJECT / "charts" / "vertical-operator"

VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())


def test_definitions_in_the_chart_are_byte_copies() -> None:
    """When this fails: `cp crds/*.yaml charts/vertical-operator/files/crds/`."""
    committed = {path.name: path.read_bytes() for path in (PROJECT / "crds").glob("*.yaml")}
    assert {path.name: path.read_bytes() for path in (CHART / "files" / "crds").iterdir()} == committed
    assert len(committed) == 2


def test_default_values_satisfy_the_schema() -> None:
    jsonschema.validate(VALUES, SCHEMA)


@pytest.mark.parametrize("path", sorted((CHART / "ci").glob("*.yaml")), ids=lambda path: path.stem)
def test_values_of_supported_shapes_satisfy_the_schema(path: Path) -> None:
    jsonschema.validate(VALUES | yaml.safe_load(path.read_text()), SCHEMA)


def test_every_value_is_described_and_every_description_has_a_value() -> None:
    assert set(SCHEMA["properties"]) - {"global"} == set(VALUES)


@pytest.mark.parametrize(
    "change",
    [
        {"replica": 2},
        {"replicas": 9},
        {"logLevel": "LOUD"},
        {"image": {"repository": "x", "tag": "latest"}},
        {"image": {"repository": "x", "digest": "sha256:1"}},
        {"image": {"repository": ""}},
        {"toolchainImages": {"OpenVino/2026.4": "x"}},
        {"watchNamespaces": ["Not_A_Namespace"]},
        {"watchNamespaces": ["a", "a"]},
        {"crds": {"install": True}},
    ],
    ids=str,
)
def test_typos_fail_at_install(change: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(VALUES | change, SCHEMA)


def test_versions_of_chart_and_distribution_agree() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert f'version = "{chart["appVersion"]}"' in (PROJECT / "pyproject.toml").read_text()


def test_pinned_packages_of_the_image_satisfy_the_distribution() -> None:
    """Every requirement of the extra `operator`, and of what those require, is in the list: the image installs without dependencies."""
    from importlib.metadata import distribution

    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    lines = (PROJECT / "operator" / "requirements.txt").read_text().splitlines()
    pins = {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines if line and line[0] != "#")}
    wanted = [Requirement(text) for text in distribution("vertical-operator").requires or []]
    waiting = [r for r in wanted if r.marker is None or r.marker.evaluate({"extra": "operator"})]
    seen: set[str] = set()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        assert name in pins, f"{name} is missing from operator/requirements.txt"
        assert requirement.specifier.contains(pins[name]), f"{requirement} is not met by {pins[name]}"
        if name not in seen:
            seen.add(name)
            inner = (Requirement(text) for text in distribution(name).requires or [])
            waiting += [r for r in inner if r.marker is None or r.marker.evaluate({"extra": ""})]
    assert set(pins) - seen == set(), "pinned, but nothing asks for it"
