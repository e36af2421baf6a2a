"""Makes a started cluster complete: a label on the real node, and a default StorageClass where there is none."""

from tests.cluster.cluster import Cluster
from tests.cluster.locations import HERE
from tests.cluster.progress import step
from tests.cluster.small_images import busybox_image, provisioner_image

REAL_NODE_LABEL = "vertical-operator.test/node=real"
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


def bring_up(cluster: Cluster) -> None:
    """Start the cluster unless it runs, and finish what is missing. May be repeated at any time."""
    cluster.provider.up()
    nodes = [
        node["metadata"]["name"] for node in cluster.objects("nodes") if "kwok.x-k8s.io/node" not in node["metadata"].get("annotations", {})
    ]
    cluster.kubectl("label", "--overwrite", "node", *nodes, REAL_NODE_LABEL)
    cluster.await_account("default")
    classes = cluster.objects("storageclasses")
    if not any(each["metadata"].get("annotations", {}).get(_DEFAULT_CLASS) == "true" for each in classes):
        archives = [busybox_image(), provisioner_image()]
        with step("Install the default StorageClass", usual=3):
            cluster.provider.load(archives)
            cluster.apply(HERE / "manifests" / "storage.yaml")
            cluster.wait("deployment", "provisioner", "Available", namespace="local-path-storage")
