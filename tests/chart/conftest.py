"""Real Helm for chart tests: the binary that the test cluster builds."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.gotools import ensure_tools

PROJECT = Path(__file__).parents[2]
CHART = PROJECT / "charts" / "vertical-operator"
KUBERNETES = "1.34.0"

Objects = dict[tuple[str, str], dict[str, Any]]
"""By kind and name; a Role of several namespaces has its namespace before the name."""


@pytest.fixture(scope="session")
def helm() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs helm with the given words; nothing is asked of a cluster."""
    binary = ensure_tools(["helm"]) / "helm"

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([str(binary), *words], capture_output=True, text=True, timeout=60, check=False)

    return run


@pytest.fixture(scope="session")
def render(helm: Callable[..., subprocess.CompletedProcess[str]]) -> Callable[..., Objects]:
    """Objects of the chart, given options of `helm template`."""

    def run(*options: str) -> Objects:
        result = helm("template", "vertical-operator", str(CHART), "--namespace", "operators", "--kube-version", KUBERNETES, *options)
        assert result.returncode == 0, result.stderr
        bodies = [body for body in yaml.safe_load_all(result.stdout) if body]
        return {(body["kind"], _name(body)): body for body in bodies}

    return run


def _name(body: dict[str, Any]) -> str:
    metadata = body["metadata"]
    namespace = metadata.get("namespace", "")
    return metadata["name"] if namespace in ("", "operators") else f"{namespace}/{metadata['name']}"
