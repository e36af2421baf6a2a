"""Fixtures for tests on a real cluster. They fail, and say what to do, where no cluster can be started: they never skip."""

import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cluster.bootstrap import bring_up
from tests.cluster.cluster import Cluster
from tests.cluster.fake_gpus import add_fake_gpu_nodes, remove_fake_gpu_nodes
from tests.cluster.images import ensure_images
from tests.cluster.locations import cache_folder
from tests.cluster.operator_install import install_operator
from tests.cluster.processes import start_time

SHARED = "VERTICAL_CLUSTER"
"""Environment variable: name of a cluster that tests use and leave running. Without it they start one of their own and end it."""

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder runs on the cluster."""
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A running cluster with a default StorageClass. The first start on a machine compiles Kubernetes: its progress is shown."""
    shared = os.environ.get(SHARED)
    _sweep()
    chosen = Cluster.named(shared or f"test-{os.getpid()}")
    was_running = chosen.provider.running()
    try:
        with _progress_shown(request):
            bring_up(chosen)
        yield chosen
    finally:
        if not shared and not was_running:
            with _progress_shown(request):
                chosen.provider.down()


@pytest.fixture(scope="session")
def images(request: pytest.FixtureRequest, cluster: Cluster) -> set[str]:
    """The project's images are in the cluster, as the working tree describes them; the references that were loaded now."""
    with _progress_shown(request):
        return ensure_images(cluster)


@pytest.fixture(scope="session")
def operator(request: pytest.FixtureRequest, cluster: Cluster, images: set[str]) -> Cluster:
    """The cluster, with the project's images and the operator running in it."""
    with _progress_shown(request):
        install_operator(cluster)
    return cluster


@pytest.fixture(scope="session")
def gpu_nodes(cluster: Cluster) -> Iterator[list[str]]:
    """Names of two fake nodes each of T4 and A100."""
    names = add_fake_gpu_nodes(cluster)
    yield names
    remove_fake_gpu_nodes(cluster)


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A fresh namespace that enforces the Pod Security level `restricted`; its deletion is asked for afterwards, not waited for."""
    name = f"test-{secrets.token_hex(4)}"
    cluster.make_namespace(name, labels={"pod-security.kubernetes.io/enforce": "restricted"})
    yield name
    cluster.delete("namespace", name, wait=False)


def _sweep() -> None:
    """Remove clusters of test runs that were killed."""
    for folder in cache_folder("state").glob("test-*"):
        owner = folder.name.removeprefix("test-")
        if owner.isdigit() and start_time(int(owner)) is None:
            Cluster.named(folder.name).provider.down()


def _progress_shown(request: pytest.FixtureRequest) -> ExitStack:
    """Minutes of silence look like a hang, so pytest's capture is off meanwhile."""
    stack = ExitStack()
    capture = request.config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        stack.enter_context(capture.global_and_fixture_disabled())
    return stack
