"""The definitions on a real API server: what the models accept it accepts, what they refuse it refuses with the same words."""

import json
from pathlib import Path

import pytest
import yaml

from tests.cluster.cluster import Cluster
from tests.cluster.locations import PROJECT
from tests.support.objects import Case, cases

EXAMPLES = sorted((PROJECT / "docs" / "examples").glob("*.yaml"))


@pytest.fixture(scope="module")
def defined(cluster: Cluster) -> Cluster:
    """The cluster with both definitions, as `kubectl apply --server-side -f crds/` leaves them."""
    for path in sorted((PROJECT / "crds").glob("*.yaml")):
        cluster.apply(path, manager="kubectl")
        cluster.wait("crd", yaml.safe_load(path.read_text())["metadata"]["name"], "Established")
    return cluster


@pytest.mark.parametrize("case", [case for case in cases() if case.by_server], ids=lambda case: case.name)
def test_server_agrees_with_models(defined: Cluster, namespace_for_dry_runs: str, case: Case) -> None:
    words = ["create", "--dry-run=server", "--validate=strict", "-f", "-"]
    if case.valid:
        assert "created" in defined.kubectl(*words, namespace=namespace_for_dry_runs, stdin=_text(case))
        return
    refusal = defined.refused(case.content, namespace=namespace_for_dry_runs)
    assert case.fragment in refusal, refusal


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_accepted_as_they_are(defined: Cluster, path: Path) -> None:
    defined.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "place"}})
    assert "created" in defined.kubectl("create", "--dry-run=server", "--validate=strict", "-f", str(path))


def test_untouched_object_is_not_current(defined: Cluster, namespace_for_dry_runs: str) -> None:
    valid = next(case for case in cases() if case.valid)
    text = defined.kubectl(
        "create", "--dry-run=server", "-o", "jsonpath={.status}", "-f", "-", namespace=namespace_for_dry_runs, stdin=_text(valid)
    )
    assert text == '{"observedGeneration":-1}'


@pytest.fixture(scope="module")
def namespace_for_dry_runs(cluster: Cluster) -> str:
    """Nothing is ever stored in it, so one serves all."""
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "dry-runs"}})
    return "dry-runs"


def _text(case: Case) -> str:
    return json.dumps(case.content)
