"""The cluster keeps what the harness promises: volumes, addresses, faults, fake GPUs, and refusal of unsafe pods."""

import json
import urllib.request
from typing import Any

import pytest

from tests.cluster.cluster import Cluster, Object
from tests.cluster.errors import ClusterError
from tests.cluster.faults import kill_container, small_volume
from tests.cluster.small_images import BUSYBOX
from tests.cluster.waiting import eventually
from vertical_engines.contract.build import BuildOutcome

SAFE: dict[str, Any] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "runAsUser": 1000,
    "seccompProfile": {"type": "RuntimeDefault"},
}
KEY = "0123456789abcdef" * 4


def pod(name: str, script: str, *, claim: str = "") -> Object:
    """A restricted pod that runs a shell script, with a claim at /data if one is given."""
    container: Object = {"name": "main", "image": BUSYBOX, "command": ["sh", "-c", script], "securityContext": SAFE}
    spec: Object = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}
    if claim:
        container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}}, "spec": spec}


def claim(name: str, mode: str) -> Object:
    spec = {"accessModes": [mode], "resources": {"requests": {"storage": "16Mi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def ended(cluster: Cluster, namespace: str, name: str) -> str:
    """Phase of a pod that has ended."""

    def probe() -> str | None:
        phase: str = (cluster.get("pod", name, namespace=namespace) or {"status": {}})["status"].get("phase", "")
        return phase if phase in ("Succeeded", "Failed") else None

    return eventually(f"pod {name} ends", probe, timeout=60)


@pytest.mark.parametrize("mode", ["ReadWriteOnce", "ReadWriteMany"])
def test_a_claim_is_bound_and_holds_what_one_pod_wrote_for_the_next(cluster: Cluster, namespace: str, mode: str) -> None:
    cluster.apply([claim("data", mode), pod("writer", "echo hello >/data/x", claim="data")], namespace=namespace)
    assert ended(cluster, namespace, "writer") == "Succeeded"
    cluster.apply(pod("reader", "cat /data/x", claim="data"), namespace=namespace)
    assert ended(cluster, namespace, "reader") == "Succeeded"
    assert cluster.logs("reader", namespace=namespace) == "hello\n"


def test_a_service_answers_on_this_machines_loopback(cluster: Cluster, namespace: str) -> None:
    web = pod("web", "mkdir /tmp/w; echo here >/tmp/w/x; exec httpd -f -p 8080 -h /tmp/w")
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
    }
    cluster.apply([web, service], namespace=namespace)
    cluster.wait("pod", "web", namespace=namespace)

    def fetch(address: str) -> bytes | None:
        try:
            with urllib.request.urlopen(f"http://{address}/x", timeout=5) as answer:
                body: bytes = answer.read()
                return body
        except OSError:
            return None

    with cluster.forward(namespace, "web", 80) as address:
        assert eventually("the Service answers", lambda: fetch(address)) == b"here\n"
    with cluster.forward_pod(namespace, "web", 8080) as address:
        assert fetch(address) == b"here\n"
    assert fetch(address) is None, "the way in must be gone with its context"


def test_a_full_volume_refuses_what_is_too_much(cluster: Cluster, namespace: str) -> None:
    with small_volume(cluster, namespace=namespace, claim="tight", size="2Mi"):
        cluster.apply(pod("hog", "dd if=/dev/zero of=/data/x bs=1M count=4", claim="tight"), namespace=namespace)
        assert ended(cluster, namespace, "hog") == "Failed"
        assert "No space left on device" in cluster.logs("hog", namespace=namespace)


def test_a_killed_container_is_started_again(cluster: Cluster, namespace: str) -> None:
    victim = pod("victim", "seconds=600; sleep $seconds & wait")
    victim["spec"]["restartPolicy"] = "Always"
    cluster.apply(victim, namespace=namespace)
    cluster.wait("pod", "victim", namespace=namespace)
    assert len(kill_container(cluster, namespace=namespace, pod="victim", container="main", process="sleep 600")) == 1

    assert last_exit(cluster, namespace, restarts=1) == 0, "the shell ends with its only child"
    cluster.wait("pod", "victim", namespace=namespace)
    kill_container(cluster, namespace=namespace, pod="victim", container="main")
    assert last_exit(cluster, namespace, restarts=2) == 137


def last_exit(cluster: Cluster, namespace: str, *, restarts: int) -> int:
    """How the container of the pod `victim` ended before its latest start."""

    def probe() -> Object:
        found = cluster.get("pod", "victim", namespace=namespace) or {}
        [status] = found["status"]["containerStatuses"]
        assert status["restartCount"] == restarts, json.dumps(status)
        terminated: Object = status["lastState"]["terminated"]
        return terminated

    return int(eventually(f"restart {restarts}", probe, timeout=60)["exitCode"])


def test_a_fault_that_hits_nothing_is_an_error(cluster: Cluster, namespace: str) -> None:
    with pytest.raises(ClusterError, match="does not run"):
        kill_container(cluster, namespace=namespace, pod="nobody", container="main")


def test_a_pod_that_is_not_restricted_is_refused(cluster: Cluster, namespace: str) -> None:
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare"}, "spec": {"containers": [{"name": "main", "image": BUSYBOX}]}}
    assert "violates PodSecurity" in cluster.refused(bare, namespace=namespace)


def test_a_build_on_a_fake_gpu_leaves_a_manifest(cluster: Cluster, namespace: str, gpu_nodes: list[str]) -> None:
    container: Object = {
        "name": "build",
        "image": "nowhere.example.com/trt:1",
        "securityContext": SAFE,
        "resources": {"limits": {"nvidia.com/gpu": 1}},
    }
    container["volumeMounts"] = [{"name": "store", "mountPath": "/store"}]
    spec: Object = {
        "restartPolicy": "Never",
        "nodeSelector": {"nvidia.com/gpu.product": "Tesla-T4"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        "initContainers": [{**container, "name": "tools"}],
        "containers": [container],
        "volumes": [{"name": "store", "persistentVolumeClaim": {"claimName": "engines"}}],
    }
    template = {"metadata": {"annotations": {"serving.vertical-operator.io/engine-key": KEY}}, "spec": spec}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "build"}, "spec": {"template": template}}
    cluster.apply([claim("engines", "ReadWriteMany"), job], namespace=namespace)
    cluster.wait("job", "build", "Complete", namespace=namespace, timeout=60)
    [built] = cluster.objects("pods", namespace=namespace, selector="job-name=build")
    assert built["spec"]["nodeName"] in gpu_nodes
    [status] = built["status"]["containerStatuses"]
    outcome = BuildOutcome.from_termination_message(status["state"]["terminated"]["message"])
    assert outcome is not None
    assert outcome.manifest is not None
    assert (outcome.manifest.key, outcome.manifest.gpu) == (KEY, "Tesla-T4")


def test_commands_run_in_the_network_of_the_cluster(cluster: Cluster) -> None:
    version = json.loads(cluster.run(["kubectl", "get", "--raw", "/version"]))
    assert version["gitVersion"].startswith("v1.")
