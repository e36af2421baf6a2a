"""The example on the cluster: apply it, and show what is waited for until it serves."""

import time
from typing import Any

from tests.cluster.cluster import Cluster, Object
from tests.cluster.errors import ClusterError
from tests.cluster.locations import PROJECT
from tests.cluster.progress import say

EXAMPLE = PROJECT / "docs" / "examples" / "poi-matching-cpu.yaml"
NAMESPACE = "demo"
NAME = "poi-matching"
DEADLINE = 600.0
"""Seconds from apply to Ready; about 40 are usual."""


def deploy(cluster: Cluster) -> None:
    """Apply the example in a namespace that enforces Pod Security `restricted`."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}})
    cluster.apply(EXAMPLE, namespace=NAMESPACE)
    say(f"applied {EXAMPLE.relative_to(PROJECT)} in namespace {NAMESPACE}")


def await_ready(cluster: Cluster) -> None:
    """Follow the object's own status until it is Ready: a line whenever it says something new.

    Raises ClusterError when the service is Stalled, TimeoutError at the deadline.
    """
    begun, told = time.monotonic(), ""
    while True:
        service = cluster.get("verticalservice", NAME, namespace=NAMESPACE)
        if service is None:
            raise ClusterError(f"VerticalService {NAME} is gone", remedy="run make demo again")
        lines = describe(service)
        if lines != told:
            say(f"{lines}  [{time.monotonic() - begun:.0f} s since apply]")
            told = lines
        conditions = _conditions(service)
        if conditions.get("Stalled", {}).get("status") == "True":
            raise ClusterError(
                f"the example can't go on: {conditions['Stalled'].get('message')}", remedy=f"kubectl -n {NAMESPACE} describe vsvc {NAME}"
            )
        ready = conditions.get("Ready", {})
        if ready.get("status") == "True" and _settled(service, conditions):
            return
        if time.monotonic() - begun > DEADLINE:
            raise TimeoutError(f"{NAME} was not ready after {DEADLINE:.0f} s; it says: {told}")
        time.sleep(0.5)


def describe(service: Object) -> str:
    """What the object says of itself, in one line: ready parts and the message that explains what is missing."""
    status: dict[str, Any] = service.get("status", {})
    conditions = _conditions(service)
    parts = f"engines {status.get('enginesReady', '-')}, variants {status.get('variantsReady', '-')}"
    for kind in ("Stalled", "Reconciling", "Ready"):
        if conditions.get(kind, {}).get("status") == "True":
            return f"{parts}: {conditions[kind].get('message') or conditions[kind].get('reason')}"
    return f"{parts}: waiting for the operator"


def _conditions(service: Object) -> dict[str, dict[str, Any]]:
    return {each["type"]: each for each in service.get("status", {}).get("conditions", [])}


def _settled(service: Object, conditions: dict[str, dict[str, Any]]) -> bool:
    newest = service["metadata"]["generation"]
    seen = service.get("status", {}).get("observedGeneration") == newest
    return seen and conditions.get("Reconciling", {}).get("status") != "True"
