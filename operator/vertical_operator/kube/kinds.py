"""The kinds that the operator touches and where they live: a static table, so that no request is spent on discovery."""

from typing import NamedTuple


class Resource(NamedTuple):
    """Where a kind lives in the API."""

    api_version: str
    plural: str

    @property
    def root(self) -> str:
        """URL prefix of the group and version."""
        return f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"


OWN_GROUP = "serving.vertical-operator.io"
OWN_VERSION = "v1alpha1"

RESOURCES: dict[str, Resource] = {
    "VerticalService": Resource(f"{OWN_GROUP}/{OWN_VERSION}", "verticalservices"),
    "Engine": Resource(f"{OWN_GROUP}/{OWN_VERSION}", "engines"),
    "Pod": Resource("v1", "pods"),
    "Node": Resource("v1", "nodes"),
    "Service": Resource("v1", "services"),
    "ConfigMap": Resource("v1", "configmaps"),
    "PersistentVolumeClaim": Resource("v1", "persistentvolumeclaims"),
    "Namespace": Resource("v1", "namespaces"),
    "Deployment": Resource("apps/v1", "deployments"),
    "Job": Resource("batch/v1", "jobs"),
    "Lease": Resource("coordination.k8s.io/v1", "leases"),
    "Event": Resource("events.k8s.io/v1", "events"),
}


def resource_path(kind: str, *, namespace: str | None, name: str | None = None, subresource: str | None = None) -> str:
    """URL path of a kind's collection, object or subresource. Raises KeyError for a kind that the operator has no business with."""
    resource = RESOURCES[kind]
    parts = [resource.root, *(["namespaces", namespace] if namespace else []), resource.plural]
    return "/".join([*parts, *([name] if name else []), *([subresource] if subresource else [])])
