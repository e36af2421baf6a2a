"""Installs the operator as users do, with the project's chart and real Helm, and removes it again."""

import json
from typing import Any

from tests.cluster.cluster import Cluster
from tests.cluster.image_build import build
from tests.cluster.image_table import image
from tests.cluster.images import ensure_images
from tests.cluster.locations import PROJECT
from tests.cluster.progress import step

RELEASE = "vertical-operator"
NAMESPACE = "vertical-operator"
CHART = PROJECT / "charts" / "vertical-operator"
IMAGE = "vertical-operator:dev"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{RELEASE}"
"""Who the operator is for the API server, for example in the audit log."""


def install_operator(cluster: Cluster, *, values: dict[str, Any] | None = None) -> None:
    """Build and load its image, install or upgrade the chart, wait until it is available. May be repeated.

    The tag is always the same, so the image's content stands in an annotation of the pod: other content, another pod.
    """
    ensure_images(cluster, [IMAGE])
    content = build(image(IMAGE)).stem
    given = {"podAnnotations": {"vertical-operator.test/image": content}, **(values or {})}
    with step("Install the operator with helm", usual=10):
        words = ["upgrade", "--install", RELEASE, str(CHART), "--namespace", NAMESPACE, "--create-namespace", "--values", "-"]
        words.append("--take-ownership")  # of definitions that somebody applied from crds/ before
        cluster.helm(*words, "--wait", "--timeout", "180s", stdin=json.dumps(given))


def remove_operator(cluster: Cluster) -> None:
    """helm uninstall; definitions and the users' objects stay, as they do for users."""
    cluster.helm("uninstall", RELEASE, "--namespace", NAMESPACE, "--ignore-not-found", "--wait", "--timeout", "120s")


def operator_pod(cluster: Cluster) -> str:
    """Name of the pod that runs now."""
    for pod in cluster.objects("pods", namespace=NAMESPACE):
        if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]:
            name: str = pod["metadata"]["name"]
            return name
    raise LookupError("no pod of the operator runs")
