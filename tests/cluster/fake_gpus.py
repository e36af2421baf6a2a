"""GPU nodes without GPUs: kwok keeps nodes with NVIDIA's labels Ready, and lets the pods that are scheduled onto them live and end.

A pod of a Job completes; the container `build` of an engine's build leaves a BuildOutcome whose key is the pod's annotation
`serving.vertical-operator.io/engine-key`. Other pods become Ready and stay.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.cluster import Cluster
from tests.cluster.gotools import ensure_tools
from tests.cluster.locations import HERE, state_folder
from tests.cluster.processes import Process, start_detached
from tests.cluster.progress import step
from tests.cluster.waiting import eventually

FAKE = {"kwok.x-k8s.io/node": "fake"}
"""Annotation of the nodes that kwok plays."""

TAINT = "nvidia.com/gpu"


@dataclass(frozen=True)
class GpuModel:
    """One product, as NVIDIA's feature discovery labels it; `memory` in MiB."""

    product: str
    memory: int
    family: str
    compute: str
    gpus: int = 8


T4 = GpuModel("Tesla-T4", 15360, "turing", "7.5", gpus=4)
A100 = GpuModel("NVIDIA-A100-SXM4-80GB", 81920, "ampere", "8.0")
L40S = GpuModel("NVIDIA-L40S", 46068, "ada-lovelace", "8.9")
H100 = GpuModel("NVIDIA-H100-80GB-HBM3", 81559, "hopper", "9.0")


def gpu_node(name: str, model: GpuModel) -> dict[str, Any]:
    """A Node object: labels and taint as on a real GPU pool, room for everything."""
    major, _, minor = model.compute.partition(".")
    size = {"cpu": "96", "memory": "1Ti", "pods": "110", "ephemeral-storage": "1Ti", "nvidia.com/gpu": str(model.gpus)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": FAKE,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "nvidia.com/gpu.present": "true",
                "nvidia.com/gpu.product": model.product,
                "nvidia.com/gpu.count": str(model.gpus),
                "nvidia.com/gpu.memory": str(model.memory),
                "nvidia.com/gpu.family": model.family,
                "nvidia.com/gpu.compute.major": major,
                "nvidia.com/gpu.compute.minor": minor,
            },
        },
        "spec": {"taints": [{"key": TAINT, "value": "present", "effect": "NoSchedule"}]},
        "status": {"capacity": size, "allocatable": size},
    }


def add_fake_gpu_nodes(cluster: Cluster, models: Sequence[GpuModel] = (T4, A100), *, each: int = 2) -> list[str]:
    """Names of the nodes, `each` per model, all Ready. Starts kwok when it does not run yet; may be repeated."""
    names = {f"gpu-{model.product.lower()}-{index}": model for model in models for index in range(each)}
    _start_kwok(cluster)
    with step(f"Add {len(names)} fake GPU nodes", usual=3):
        cluster.apply([gpu_node(name, model) for name, model in names.items()])
        for name in names:
            cluster.wait("node", name, timeout=60)
    return list(names)


def remove_fake_gpu_nodes(cluster: Cluster) -> None:
    """Remove the nodes of every model, with their pods, and end kwok."""
    for node in cluster.objects("nodes", selector="nvidia.com/gpu.present=true"):
        name = node["metadata"]["name"]
        if node["metadata"].get("annotations", {}).items() >= FAKE.items():
            cluster.delete("node", name)
            for pod in cluster.objects("pods"):
                if pod["spec"].get("nodeName") == name:
                    words = ["delete", "pod", pod["metadata"]["name"], "--force", "--grace-period=0", "--ignore-not-found"]
                    cluster.kubectl(*words, namespace=pod["metadata"]["namespace"])
    if process := Process.read(_record(cluster)):
        process.end()
        _record(cluster).unlink()


def _record(cluster: Cluster) -> Path:
    return state_folder(cluster.name) / "kwok.process"


def _start_kwok(cluster: Cluster) -> None:
    running = Process.read(_record(cluster))
    if running and running.alive():
        return
    binary = ensure_tools(["kwok"]) / "kwok"
    argv: list[str | Path] = [binary, "--kubeconfig", cluster.kubeconfig, "--config", HERE / "manifests" / "kwok-stages.yaml"]
    argv += ["--manage-all-nodes=false", "--manage-nodes-with-annotation-selector", "kwok.x-k8s.io/node=fake"]
    log = state_folder(cluster.name) / "kwok.log"
    process = start_detached([*argv, "--node-lease-duration-seconds", "40", "--server-address", ""], log=log)
    process.write(_record(cluster))

    def started() -> bool:
        assert process.alive(), log.read_text()[-2000:]
        return "Starting" in log.read_text() or log.stat().st_size > 0

    eventually("kwok starts", started, timeout=20)
