"""The GPU example on nodes that only look like GPU nodes: selectors, resources and Jobs are right; nothing of TensorRT-LLM runs."""

from tests.cluster.cluster import Cluster, Object
from tests.cluster.services import await_serving, example, placements
from vertical_engines.contract.build import BuildOutcome

PRODUCT = "nvidia.com/gpu.product"


def test_example_is_built_and_placed_by_product(operator: Cluster, gpu_nodes: list[str], namespace: str) -> None:
    for claim in ("models", "engines"):
        operator.apply(_bound_claim(claim, namespace=namespace))
    operator.apply(example("poi-matching-gpu"), namespace=namespace)
    service = await_serving(operator, "poi-matching", namespace=namespace)

    entries = placements(service)
    assert {key: entry["product"] for key, entry in entries.items()} == {
        ("realtime", "t4"): "Tesla-T4",
        ("background", "t4"): "Tesla-T4",
        ("background", "a100"): "NVIDIA-A100-SXM4-80GB",
    }
    assert len({entry["engine"] for entry in entries.values()}) == 3, "two build configs on T4, one on A100"

    products = {node["metadata"]["name"]: node["metadata"]["labels"].get(PRODUCT) for node in operator.objects("nodes")}
    for (variant, placement), entry in entries.items():
        selector = f"serving.vertical-operator.io/variant={variant},serving.vertical-operator.io/placement={placement}"
        pods = operator.objects("pods", namespace=namespace, selector=selector)
        assert len(pods) == entry["replicas"]
        for pod in pods:
            assert products[pod["spec"]["nodeName"]] == entry["product"]
            assert pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"

    for engine in operator.objects("engines", namespace=namespace):
        pod = _build_pod(operator, engine, namespace=namespace)
        assert products[pod["spec"]["nodeName"]] == engine["spec"]["identity"]["accelerator"]["product"]
        message = next(each for each in pod["status"]["containerStatuses"] if each["name"] == "build")["state"]["terminated"]["message"]
        outcome = BuildOutcome.from_termination_message(message)
        assert outcome is not None
        assert outcome.manifest is not None
        assert outcome.manifest.key == engine["spec"]["key"]
        assert engine["status"]["manifest"]["manifestDigest"] == outcome.manifest.manifest_digest


def _build_pod(cluster: Cluster, engine: Object, *, namespace: str) -> Object:
    selector = f"batch.kubernetes.io/job-name={engine['metadata']['name']}-build"
    (pod,) = cluster.objects("pods", namespace=namespace, selector=selector)
    return pod


def _bound_claim(name: str, *, namespace: str) -> list[Object]:
    """A claim with a volume that any node can mount: nothing is ever read from it."""
    volume = f"{namespace}-{name}"
    common = {"accessModes": ["ReadWriteMany"], "storageClassName": "fake-gpu"}
    persistent = {**common, "capacity": {"storage": "1Gi"}, "hostPath": {"path": f"/nonexistent/{volume}"}}
    claim = {**common, "volumeName": volume, "resources": {"requests": {"storage": "1Gi"}}}
    return [
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume}, "spec": persistent},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": namespace}, "spec": claim},
    ]
