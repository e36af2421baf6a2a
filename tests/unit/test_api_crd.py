"""The committed CRDs are fresh, small, structural, and say what the design promises."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from vertical_operator.api.v1alpha1.crd import crds, definitions, write
from vertical_operator.api.v1alpha1.rules import VALIDATIONS

COMMITTED = Path(__file__).parents[2] / "crds"


def nodes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    if "items" in schema:
        yield from nodes(schema["items"], f"{path}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from nodes(schema["additionalProperties"], f"{path}{{}}")


def schema_of(plural: str) -> dict[str, Any]:
    found = next(d for d in definitions() if d["spec"]["names"]["plural"] == plural)
    schema: dict[str, Any] = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def test_committed_files_are_fresh(tmp_path: Path) -> None:
    write(tmp_path)
    assert {p.name: p.read_text() for p in COMMITTED.glob("*.yaml")} == {p.name: p.read_text() for p in tmp_path.iterdir()}


@pytest.mark.parametrize("text", crds().values(), ids=crds().keys())
def test_each_is_small_and_reads_back(text: str) -> None:
    assert len(text.encode()) < 64 * 1024
    assert yaml.safe_load(text) in list(definitions())


@pytest.mark.parametrize("plural", ["verticalservices", "engines"])
def test_structural_and_bounded(plural: str) -> None:
    for path, node in nodes(schema_of(plural)):
        assert "$ref" not in node, path
        assert "anyOf" not in node or node.get("x-kubernetes-int-or-string"), path
        assert "type" in node or "x-kubernetes-int-or-string" in node, path
        if path.split(".")[:2] in (["", "apiVersion"], ["", "kind"], ["", "metadata"]):
            continue
        if node.get("type") == "string":
            assert "maxLength" in node or "enum" in node, path
        if node.get("type") == "array":
            assert "maxItems" in node, path
        if "additionalProperties" in node:
            assert "maxProperties" in node, path


@pytest.mark.parametrize("plural", ["verticalservices", "engines"])
def test_an_untouched_object_is_never_current(plural: str) -> None:
    status = schema_of(plural)["properties"]["status"]
    assert status["default"] == {"observedGeneration": -1}
    assert not [path for path, node in nodes(status) if path and "default" in node], "a default inside would show in untouched objects"


def test_named_lists_are_merged_by_name() -> None:
    maps = {path: node for path, node in nodes(schema_of("verticalservices")) if node.get("x-kubernetes-list-type") == "map"}
    assert {path: node["x-kubernetes-list-map-keys"] for path, node in maps.items()} == {
        ".spec.imagePullSecrets": ["name"],
        ".spec.variants": ["name"],
        ".spec.variants[].placements": ["name"],
        ".status.conditions": ["type"],
        ".status.variants": ["name"],
        ".status.variants[].placements": ["name"],
    }


def test_defaults_are_static_and_visible() -> None:
    found = {path: node["default"] for path, node in nodes(schema_of("verticalservices")["properties"]["spec"]) if "default" in node}
    assert found == {
        ".model.name": "generator",
        ".model.weights": "source",
        ".engineStore.volumeClaimTemplate.accessModes": ["ReadWriteOnce"],
        ".engineStore.registry.insecure": False,
        ".engineStore.registry.onDelete": "Keep",
        ".variants[].buildConfig.max_beam_width": 1,
        ".variants[].buildConfig.plugin_config": {},
        ".variants[].buildConfig.plugin_config.paged_kv_cache": True,
        ".variants[].decoding": "Greedy",
        ".variants[].prefixCache.enabled": False,
        ".variants[].openvino.profile": "Default",
        ".variants[].placements[].accelerator.count": 1,
        ".variants[].placements[].replicas": 1,
        ".variants[].placements[].tolerations[].operator": "Equal",
    }


def test_columns_answer_whether_it_is_well() -> None:
    columns = {d["spec"]["names"]["kind"]: d["spec"]["versions"][0]["additionalPrinterColumns"] for d in definitions()}
    shown = {kind: [c["name"] for c in found if not c.get("priority")] for kind, found in columns.items()}
    assert shown["VerticalService"] == ["Ready", "Reason", "Variants", "Engines", "Age"]
    assert shown["Engine"] == ["Model", "Flags", "GPU", "Toolchain", "Ready", "State", "Build", "Size", "Age"]
    assert all([c["name"] for c in found if c.get("priority")] == ["Message"] for found in columns.values())


def test_every_rule_says_what_to_do() -> None:
    rules = [
        rule for plural in ("verticalservices", "engines") for _, node in nodes(schema_of(plural)) for rule in node.get(VALIDATIONS, [])
    ]
    assert len(rules) >= 14
    assert all(len(rule["message"]) > 30 for rule in rules)


def test_an_engine_is_immutable_but_for_scheduling_and_roads() -> None:
    spec = schema_of("engines")["properties"]["spec"]
    fixed = {rule["rule"].split(" ")[0].removeprefix("self.") for rule in spec[VALIDATIONS]}
    assert fixed == set(spec["properties"]) - {"scheduling", "access", "storeAccess"}
