"""The provider `kind`, for real: a cluster comes up, takes our images, runs a pod, and goes without a trace. Only by `make test-kind`."""

import os
from collections.abc import Iterator

import pytest

from tests.cluster.bootstrap import bring_up
from tests.cluster.cluster import Cluster
from tests.cluster.native.machine import CGROUPS
from tests.cluster.operator_install import install_operator, operator_pod
from tests.cluster.provider import ProviderName
from tests.cluster.small_images import BUSYBOX, busybox_image
from tests.cluster.waiting import eventually

pytestmark = pytest.mark.kind


@pytest.fixture(scope="module")
def kind() -> Iterator[Cluster]:
    cluster = Cluster.named(f"kind-{os.getpid()}", provider=ProviderName.KIND)
    try:
        bring_up(cluster)
        yield cluster
    finally:
        cluster.provider.down()
        assert not cluster.kubeconfig.parent.exists()
        assert list(CGROUPS.glob(f"*/vertical-{cluster.name}")) == []


def test_a_loaded_image_runs(kind: Cluster) -> None:
    kind.provider.load([busybox_image()])
    assert BUSYBOX in kind.provider.images()
    container = {"name": "main", "image": BUSYBOX, "command": ["sh", "-c", "echo here; exec httpd -f -p 8080 -h /bin"]}
    spec = {"terminationGracePeriodSeconds": 1, "containers": [container]}
    kind.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "default"}, "spec": spec})
    kind.wait("pod", "web", namespace="default")
    assert kind.logs("web", namespace="default") == "here\n"
    with kind.forward_pod("default", "web", 8080) as address:
        assert address.startswith("127.0.0.1:")
    kind.delete("pod", "web", namespace="default")


def test_the_operator_runs_there(kind: Cluster) -> None:
    install_operator(kind)
    kind.wait("deployment", "vertical-operator", "Available", namespace="vertical-operator")
    assert "vertical-operator:dev" in " ".join(kind.provider.images())
    assert eventually("its pod", lambda: operator_pod(kind)).startswith("vertical-operator-")
