"""Where each kind lives: a static table, so that no request is ever spent on discovery."""

from vertical_operator.api.v1alpha1.group import KINDS, Kind

LEASE = Kind("coordination.k8s.io/v1", "Lease", "leases")
EVENT = Kind("events.k8s.io/v1", "Event", "events")

RESOURCES: dict[str, Kind] = {kind.name: kind for kind in (*KINDS, LEASE, EVENT)}


def resource_path(kind: str, *, namespace: str | None, name: str | None = None, subresource: str | None = None) -> str:
    """URL path of a kind's collection, object or subresource. Raises KeyError for a kind that the operator has no business with."""
    resource = RESOURCES[kind]
    root = f"/apis/{resource.api_version}" if "/" in resource.api_version else f"/api/{resource.api_version}"
    parts = [root, *(["namespaces", namespace] if namespace else []), resource.plural]
    return "/".join([*parts, *([name] if name else []), *([subresource] if subresource else [])])
