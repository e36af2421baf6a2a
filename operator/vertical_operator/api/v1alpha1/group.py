"""Names that the API server and people see: group, kinds, labels, annotations, finalizer and field manager."""

from typing import Literal, NamedTuple

GROUP = "serving.vertical-operator.io"
VERSION = "v1alpha1"
API_VERSION: Literal["serving.vertical-operator.io/v1alpha1"] = "serving.vertical-operator.io/v1alpha1"
CATEGORY = "slm"

FIELD_MANAGER = "vertical-operator"
"""Server-side apply manager of everything but Engines: each owner applies those under `engine_manager(service)`."""

MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
SERVICE_LABEL = f"{GROUP}/service"
VARIANT_LABEL = f"{GROUP}/variant"
PLACEMENT_LABEL = f"{GROUP}/placement"
ENGINE_LABEL = f"{GROUP}/engine"
"""Name of the Engine object: on its Jobs, their pods and the pods that serve it."""

ENGINE_KEY_ANNOTATION = f"{GROUP}/engine-key"
"""64 hex digits: on Deployments, their pod template and build Jobs."""
REVISION_ANNOTATION = f"{GROUP}/revision"
"""Digest of the pod template, on the template: tells pods of the wanted revision from older ones."""
INTENT_ANNOTATION = f"{GROUP}/intent"
"""Digest of what was applied, on Deployments and build Jobs: tells whether an apply is still due."""

STORE_FINALIZER = f"{GROUP}/store"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
"""Kueue's own: a Job that carries it waits in that LocalQueue."""
GPU_PRODUCT_LABEL = "nvidia.com/gpu.product"
GPU_RESOURCE = "nvidia.com/gpu"


class Kind(NamedTuple):
    """A kind as the API server addresses it."""

    api_version: str
    name: str
    plural: str


VERTICAL_SERVICE = Kind(API_VERSION, "VerticalService", "verticalservices")
ENGINE = Kind(API_VERSION, "Engine", "engines")
DEPLOYMENT = Kind("apps/v1", "Deployment", "deployments")
JOB = Kind("batch/v1", "Job", "jobs")
SERVICE = Kind("v1", "Service", "services")
CONFIG_MAP = Kind("v1", "ConfigMap", "configmaps")
CLAIM = Kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims")
POD = Kind("v1", "Pod", "pods")
NODE = Kind("v1", "Node", "nodes")
NAMESPACE = Kind("v1", "Namespace", "namespaces")

KINDS = (VERTICAL_SERVICE, ENGINE, DEPLOYMENT, JOB, SERVICE, CONFIG_MAP, CLAIM, POD, NODE, NAMESPACE)
"""Everything that the operator reads or writes; a node and a namespace are cluster-scoped."""


def engine_manager(service: str) -> str:
    """Field manager under which one service applies the Engines that it wants: owner references of several services merge."""
    return f"{FIELD_MANAGER}/{service}"
