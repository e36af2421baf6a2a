"""Toolchains that an installation adds, on the real cluster: what can't be used ends the operator's start with words that say where."""

import json
from collections.abc import Iterator

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.errors import ClusterError
from tests.cluster.operator_install import CHART
from tests.cluster.waiting import eventually

RELEASE = "site"
WORKLOAD = f"deployment/{RELEASE}-vertical-operator"


@pytest.fixture
def beside(cluster: Cluster, images: set[str], namespace: str) -> Iterator[Cluster]:
    """Room for a second installation that watches its own namespace only; it is removed afterwards."""
    yield cluster
    cluster.helm("uninstall", RELEASE, "--namespace", namespace, "--ignore-not-found", "--wait", "--timeout", "60s")


def test_additions_that_cannot_be_used_are_named_at_the_start(beside: Cluster, namespace: str) -> None:
    values = {
        "watchNamespaces": [namespace],
        "crds": {"enabled": False},
        "admissionPolicy": {"enabled": False},
        "extraToolchains": {"gpus": {"NVIDIA-X9000": {"sm": 999, "memory": 32768}, "Tesla-T4": {"sm": 80, "memory": 1}}},
    }
    beside.helm("install", RELEASE, str(CHART), "--namespace", namespace, "--values", "-", stdin=json.dumps(values))

    def words() -> str | None:
        try:
            said = beside.kubectl("logs", WORKLOAD, "--tail=20", namespace=namespace)
        except ClusterError:
            return None  # the container has not started yet
        return said if "OPERATOR_TOOLCHAINS_FILE" in said else None

    said = eventually("the operator says what is wrong", words, timeout=120)
    assert "gpus.NVIDIA-X9000.sm: 999 is no known architecture" in said
    assert "gpus.Tesla-T4: is built in" in said
