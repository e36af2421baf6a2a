"""The Service of a variant, over all its placements."""

from vertical_engines.contract.serving import GRPC_PORT, HTTP_PORT, METRICS_PORT
from vertical_operator.api.v1alpha1.group import SERVICE, VERTICAL_SERVICE
from vertical_operator.api.v1alpha1.metadata import ObjectMeta
from vertical_operator.api.v1alpha1.variant import Variant
from vertical_operator.api.v1alpha1.vertical_service import VerticalService
from vertical_operator.core.intents import Manifest
from vertical_operator.core.names import child_name, labels, owner_reference

PORTS = (("http", HTTP_PORT), ("grpc", GRPC_PORT), ("metrics", METRICS_PORT))


def service_name(service: ObjectMeta, variant: Variant) -> str:
    return child_name(service.name, variant.name)


def address(service: ObjectMeta, variant: Variant) -> str:
    """Host and HTTP port inside the cluster."""
    return f"{service_name(service, variant)}.{service.namespace}.svc:{HTTP_PORT}"


def variant_service(service: VerticalService, variant: Variant) -> Manifest:
    """ClusterIP; ready pods only, so a draining server gets no new connection."""
    own = labels(service=service.metadata.name, variant=variant.name)
    return {
        "apiVersion": SERVICE.api_version,
        "kind": SERVICE.name,
        "metadata": {
            "name": service_name(service.metadata, variant),
            "namespace": service.metadata.namespace,
            "labels": own,
            "ownerReferences": [owner_reference(VERTICAL_SERVICE.name, service.metadata)],
        },
        "spec": {
            "type": "ClusterIP",
            "selector": own,
            "ports": [{"name": name, "port": port, "targetPort": port, "protocol": "TCP"} for name, port in PORTS],
        },
    }
