"""Builds and stores in trouble on the real cluster: a pod deleted half-way, a read-only claim, an engine altered or lost afterwards."""

import json
from typing import Any

from tests.cluster.cluster import Cluster, Object
from tests.cluster.faults import read_only, small_volume
from tests.cluster.services import KIND, ask, await_reason, await_serving, example, only_realtime
from tests.cluster.shell import output
from tests.cluster.waiting import eventually

NAME = "poi-matching"
VARIANT = "serving.vertical-operator.io/variant=realtime"


def one_variant(**store: Any) -> Object:
    def change(spec: Any) -> None:
        only_realtime(spec)
        if store:
            spec["engineStore"] = store

    return example("poi-matching-cpu", change=change)


def test_pod_deleted_half_way_through_a_build(operator: Cluster, namespace: str) -> None:
    operator.apply(one_variant(), namespace=namespace)
    pod = eventually("the build runs", lambda: _running(operator, namespace, "build"), timeout=120)
    operator.kubectl("delete", "pod", pod, "--wait=false", namespace=namespace)
    await_serving(operator, NAME, namespace=namespace)
    assert ask(operator, NAME, "realtime", namespace=namespace).matched
    (engine,) = operator.objects("engines", namespace=namespace)
    assert _in_store(operator, engine, namespace=namespace) == {engine["spec"]["key"]}
    assert _in_store(operator, engine, ".tmp", namespace=namespace) == set(), "no litter of the build that was deleted"


def test_build_out_of_memory_is_named_and_heals_with_a_higher_limit(operator: Cluster, namespace: str) -> None:
    """The kernel kills it, the Job tries again with growing pauses and gives up; another limit is another Job."""

    def little(spec: Any) -> None:
        only_realtime(spec)
        spec["variants"][0]["placements"][0]["resources"] = {"requests": {"cpu": "50m", "memory": "200Mi"}, "limits": {"memory": "200Mi"}}

    operator.apply(example("poi-matching-cpu", change=little), namespace=namespace)
    seen = await_reason(operator, KIND, NAME, namespace=namespace, condition="Stalled", reason="BuildOutOfMemory", timeout=420)
    assert "memory" in seen["message"]
    (job,) = operator.objects("jobs", namespace=namespace)
    assert job["status"]["failed"] > 1, "it was tried again"
    operator.apply(one_variant(), namespace=namespace)
    await_serving(operator, NAME, namespace=namespace)
    (engine,) = operator.objects("engines", namespace=namespace)
    assert _in_store(operator, engine, namespace=namespace) == {engine["spec"]["key"]}
    assert _in_store(operator, engine, ".tmp", namespace=namespace) == set()


def test_read_only_store(operator: Cluster, namespace: str) -> None:
    """Named while it lasts; and once it can be written, deleting the failed Job is enough."""
    with small_volume(operator, namespace=namespace, claim="fixed", size="400Mi") as claim:
        with read_only(operator, namespace=namespace, claim=claim):
            operator.apply(one_variant(persistentVolumeClaim={"claimName": claim}), namespace=namespace)
            seen = await_reason(operator, KIND, NAME, namespace=namespace, condition="Stalled", reason="StoreUnavailable", timeout=300)
            assert "read-write" in seen["message"]
        for job in operator.objects("jobs", namespace=namespace):
            operator.delete("job", job["metadata"]["name"], namespace=namespace)
        await_serving(operator, NAME, namespace=namespace)
        operator.delete(KIND, NAME, namespace=namespace)


def test_engine_altered_in_place_is_refused_and_built_again(operator: Cluster, namespace: str) -> None:
    """Same size, so that only the digest tells. The pod's init container says so; the status does, and never calls it a crash loop."""
    operator.apply(one_variant(), namespace=namespace)
    await_serving(operator, NAME, namespace=namespace)
    (engine,) = operator.objects("engines", namespace=namespace)
    path = f"{_folder(operator, engine, namespace=namespace)}/{engine['spec']['key']}/openvino_model.bin"
    before = _digest(operator, path)
    _on_node(operator, f"printf X | dd of='{path}' bs=1 seek=1000000 conv=notrunc 2>/dev/null")
    assert _digest(operator, path) != before, "the fault hit nothing"
    _refused_then_healed(operator, engine, namespace=namespace, reason="EngineCorrupt", words="openvino_model.bin has another sha256")
    assert _digest(operator, path) == before, "built again, to the byte"


def test_engine_lost_from_the_store_is_refused_and_built_again(operator: Cluster, namespace: str) -> None:
    operator.apply(one_variant(), namespace=namespace)
    await_serving(operator, NAME, namespace=namespace)
    (engine,) = operator.objects("engines", namespace=namespace)
    _on_node(operator, f"rm -r '{_folder(operator, engine, namespace=namespace)}/{engine['spec']['key']}'")
    _refused_then_healed(operator, engine, namespace=namespace, reason="EngineMissing", words="is not in the store")


def _refused_then_healed(cluster: Cluster, engine: Object, *, namespace: str, reason: str, words: str) -> None:
    (pod,) = cluster.objects("pods", namespace=namespace, selector=VARIANT)
    cluster.delete("pod", pod["metadata"]["name"], namespace=namespace, timeout=180)
    seen = await_reason(cluster, KIND, NAME, namespace=namespace, condition="Stalled", reason=reason, timeout=180)
    assert words in seen["message"]

    def refused_again() -> Object:
        found = cluster.the(KIND, NAME, namespace=namespace)
        stalled = next(each for each in found["status"]["conditions"] if each["type"] == "Stalled")
        assert (stalled["status"], stalled["reason"]) == ("True", reason), "it stays the same through the kubelet's restarts"
        (pod,) = cluster.objects("pods", namespace=namespace, selector=VARIANT)
        states = {each["name"]: each for each in pod["status"]["initContainerStatuses"]}
        assert states["assemble"]["restartCount"] >= 2
        servers = pod["status"]["containerStatuses"]
        assert all("waiting" in each["state"] and each["restartCount"] == 0 for each in servers), "the server never started"
        return found

    eventually("the init container has refused it several times", refused_again, timeout=120)
    cluster.delete("engine", engine["metadata"]["name"], namespace=namespace, timeout=180)
    await_serving(cluster, NAME, namespace=namespace, timeout=600)
    assert ask(cluster, NAME, "realtime", namespace=namespace).matched


def _running(cluster: Cluster, namespace: str, container: str) -> str | None:
    """Name of the pod in which that container runs now."""
    for pod in cluster.objects("pods", namespace=namespace):
        for status in pod["status"].get("containerStatuses", []):
            if status["name"] == container and "running" in status["state"]:
                name: str = pod["metadata"]["name"]
                return name
    return None


def _folder(cluster: Cluster, engine: Object, *, namespace: str) -> str:
    """The engine store as a folder of the node."""
    claim = cluster.the("persistentvolumeclaim", engine["spec"]["store"]["claimName"], namespace=namespace)
    spec = cluster.the("persistentvolume", claim["spec"]["volumeName"])["spec"]
    path: str = (spec.get("hostPath") or spec.get("local"))["path"]
    return path


def _in_store(cluster: Cluster, engine: Object, below: str = "", *, namespace: str) -> set[str]:
    """Names in a folder of the store, without the store's own."""
    folder = _folder(cluster, engine, namespace=namespace)
    listed = _on_node(cluster, f"ls -A '{folder}/{below}' 2>/dev/null || true").split()
    return {name for name in listed if not name.startswith(".")}


def _digest(cluster: Cluster, path: str) -> str:
    return _on_node(cluster, f"sha256sum '{path}'").split()[0]


def _on_node(cluster: Cluster, script: str) -> str:
    return output(cluster.provider.on_node(["sh", "-c", script]))


def test_build_waits_while_its_queue_holds_it(operator: Cluster, namespace: str) -> None:
    """Kueue itself is not here: the test plays its part, which is to set `suspend` on a Job that carries the label, and to take it back."""

    def queued(spec: Any) -> None:
        only_realtime(spec)
        spec["variants"][0]["placements"][0]["queueName"] = "builds"

    operator.apply(example("poi-matching-cpu", change=queued), namespace=namespace)

    def held() -> str | None:
        for job in operator.objects("jobs", namespace=namespace, selector="kueue.x-k8s.io/queue-name=builds"):
            name: str = job["metadata"]["name"]
            _suspend(operator, name, value=True, namespace=namespace)
            return name
        return None

    job = eventually("the Job carries the queue's label", held, timeout=60)

    def told() -> Object:
        found = operator.the(KIND, NAME, namespace=namespace)
        (engine,) = operator.objects("engines", namespace=namespace)
        assert "has not admitted it from queue builds" in engine["status"]["message"], engine["status"]
        return found

    eventually("the Engine says what it waits for", told, timeout=60)
    assert operator.the("job", job, namespace=namespace)["spec"]["suspend"] is True, "the operator leaves suspend to the queue"
    _suspend(operator, job, value=False, namespace=namespace)
    await_serving(operator, NAME, namespace=namespace)


def _suspend(cluster: Cluster, job: str, *, value: bool, namespace: str) -> None:
    cluster.kubectl("patch", "job", job, "--type=merge", "-p", json.dumps({"spec": {"suspend": value}}), namespace=namespace)
