"""The objects of the scenarios: one service with two variants on CPU, and small changes of it."""

from copy import deepcopy
from typing import Any

from vertical_operator.api.v1alpha1.group import API_VERSION
from vertical_operator.kube.port import Manifest

NAMESPACE = "place"


def variant(name: str, *, batch: int, paged: bool, **more: Any) -> Manifest:
    return {
        "name": name,
        "batching": "InFlight" if paged else "Static",
        "buildConfig": {
            "max_input_len": 512,
            "max_output_len": 32,
            "max_batch_size": batch,
            "plugin_config": {"paged_kv_cache": paged},
        },
        "placements": [{"name": "cpu", "replicas": 1, "resources": {"requests": {"cpu": "0.5", "memory": "1024Mi"}}}],
        **more,
    }


def service(name: str = "poi-matching", *, store: Manifest | None = None, **changes: Any) -> Manifest:
    """A VerticalService of two variants with a claim of its own, unless another store is given."""
    body = {
        "apiVersion": API_VERSION,
        "kind": "VerticalService",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {"team": "place"},
            "annotations": {"argocd.argoproj.io/tracking-id": "x"},
        },
        "spec": {
            "model": {
                "name": "generator",
                "revision": "1",
                "weights": "source",
                "source": {"image": {"reference": "models:1", "path": "/models/slm"}},
            },
            "toolchain": {"backend": "OpenVINO", "release": "2026.4"},
            "pipeline": {"image": {"reference": "pipeline:1", "path": "/models"}, "entrypoint": "poi_matching_bls"},
            "engineStore": store or {"volumeClaimTemplate": {"accessModes": ["ReadWriteOnce"], "size": "2Gi"}},
            "variants": [
                variant("realtime", batch=1, paged=False, decoding="Greedy", responseCache={"size": "64Mi", "models": ["generator"]}),
                variant("background", batch=8, paged=True, prefixCache={"enabled": True}),
            ],
            **changes,
        },
    }
    return deepcopy(body)


def claim(name: str = "engines") -> Manifest:
    """A claim that users made themselves."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}},
    }


SHARED_STORE: Manifest = {"persistentVolumeClaim": {"claimName": "engines"}}
