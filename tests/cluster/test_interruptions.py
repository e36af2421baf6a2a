"""The operator and its builds are interrupted at bad moments; the end is as if nothing had happened."""

from tests.cluster.cluster import Cluster
from tests.cluster.faults import kill_container
from tests.cluster.operator_install import NAMESPACE as OPERATOR_NAMESPACE
from tests.cluster.operator_install import operator_pod
from tests.cluster.services import ask, await_serving, example, only_realtime
from tests.cluster.waiting import eventually

NAME = "poi-matching"


def test_operator_killed_while_an_engine_is_built(operator: Cluster, namespace: str) -> None:
    operator.apply(example("poi-matching-cpu", change=only_realtime), namespace=namespace)
    eventually("the build runs", lambda: _building(operator, namespace), timeout=120)
    operator.kubectl("delete", "pod", operator_pod(operator), "--grace-period=0", "--force", namespace=OPERATOR_NAMESPACE)
    await_serving(operator, NAME, namespace=namespace)
    assert len(operator.objects("jobs", namespace=namespace)) == 1, "the build was not started a second time"
    assert ask(operator, NAME, "realtime", namespace=namespace).matched


def test_build_killed_is_tried_again_and_ends_right(operator: Cluster, namespace: str) -> None:
    operator.apply(example("poi-matching-cpu", change=only_realtime), namespace=namespace)
    pod = eventually("the build runs", lambda: _building(operator, namespace), timeout=120)
    kill_container(operator, namespace=namespace, pod=pod, container="build")
    await_serving(operator, NAME, namespace=namespace)
    (job,) = operator.objects("jobs", namespace=namespace)
    assert job["status"].get("failed", 0) >= 1, "the kill hit the build"
    assert ask(operator, NAME, "realtime", namespace=namespace).matched


def test_dead_stub_is_noticed_and_serving_again(operator: Cluster, namespace: str) -> None:
    """Triton's own health stays green when a model's process dies: the guard has to see it."""
    operator.apply(example("poi-matching-cpu", change=only_realtime), namespace=namespace)
    await_serving(operator, NAME, namespace=namespace)
    (pod,) = operator.objects("pods", namespace=namespace, selector="serving.vertical-operator.io/variant=realtime")
    kill_container(operator, namespace=namespace, pod=pod["metadata"]["name"], container="triton", process="triton_python_backend_stub")

    def restarted() -> bool:
        found = operator.the("pod", pod["metadata"]["name"], namespace=namespace)
        states = {each["name"]: each for each in found["status"]["containerStatuses"]}
        return bool(states["triton"]["restartCount"] >= 1 and states["triton"]["ready"])

    eventually("triton was restarted and is ready", restarted, timeout=90)
    assert ask(operator, NAME, "realtime", namespace=namespace).matched


def _building(cluster: Cluster, namespace: str) -> str | None:
    """Name of the pod whose container `build` runs now."""
    for pod in cluster.objects("pods", namespace=namespace):
        for status in pod["status"].get("containerStatuses", []):
            if status["name"] == "build" and "running" in status["state"]:
                name: str = pod["metadata"]["name"]
                return name
    return None
