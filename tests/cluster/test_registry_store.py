"""Engines in a registry on the cluster: built once, served from the digest, found by another namespace, kept when their object goes."""

import secrets
from collections.abc import Iterator

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.server_images import REGISTRY, REGISTRY_PORT, registry_image, serve
from tests.cluster.services import KIND, ask, await_serving, example, only_realtime, placements
from tests.cluster.waiting import eventually

NAME = "poi-registry"


@pytest.fixture(scope="module")
def repository(operator: Cluster) -> Iterator[str]:
    """A repository of a registry that runs in the cluster, without TLS."""
    namespace = f"registry-{secrets.token_hex(3)}"
    operator.make_namespace(namespace, labels={"pod-security.kubernetes.io/enforce": "restricted"})
    operator.provider.load([registry_image()])
    serve(operator, "registry", namespace=namespace, image=REGISTRY, port=REGISTRY_PORT, mounts=["/data"])
    address = operator.the("service", "registry", namespace=namespace)["spec"]["clusterIP"]  # a native cluster has no DNS
    yield f"{address}:{REGISTRY_PORT}/team/engines"
    operator.delete("namespace", namespace, wait=False)


def test_an_engine_built_in_one_namespace_is_served_in_another(operator: Cluster, repository: str, namespace: str) -> None:
    def stored(spec: dict[str, object]) -> None:
        only_realtime(spec)
        spec["engineStore"] = {"registry": {"repository": repository, "insecure": True}}

    operator.apply(example("poi-matching-cpu", called=NAME, change=stored), namespace=namespace)
    first = await_serving(operator, NAME, namespace=namespace)
    assert operator.objects("persistentvolumeclaims", namespace=namespace) == [], "no volume is shared"
    name = placements(first)["realtime", "cpu"]["engine"]
    summary = operator.the("engine", name, namespace=namespace)["status"]["manifest"]
    assert summary["artifact"].startswith(f"{repository}@sha256:")
    deployment = operator.the("deployment", f"{NAME}-realtime-cpu", namespace=namespace)
    pull = next(each for each in deployment["spec"]["template"]["spec"]["initContainers"] if each["name"] == "pull")
    assert summary["artifact"].partition("@")[2] in pull["command"]
    assert ask(operator, NAME, "realtime", namespace=namespace).matched

    other = f"elsewhere-{secrets.token_hex(3)}"
    operator.make_namespace(other, labels={"pod-security.kubernetes.io/enforce": "restricted"})
    try:
        operator.apply(example("poi-matching-cpu", called=NAME, change=stored), namespace=other)
        second = await_serving(operator, NAME, namespace=other)
        found = operator.the("engine", placements(second)["realtime", "cpu"]["engine"], namespace=other)["status"]["manifest"]
        assert (found["artifact"], found["builtAt"]) == (summary["artifact"], summary["builtAt"]), "it was found, not built again"

        operator.delete(KIND, NAME, namespace=namespace)
        eventually("the first Engine is gone", lambda: not operator.get("engine", name, namespace=namespace), timeout=180)
        operator.kubectl("rollout", "restart", f"deployment/{NAME}-realtime-cpu", namespace=other)
        operator.kubectl("rollout", "status", f"deployment/{NAME}-realtime-cpu", "--timeout=240s", namespace=other, timeout=250)
        assert ask(operator, NAME, "realtime", namespace=other).matched, "a new pod pulls it still"
    finally:
        operator.delete("namespace", other, wait=False)
