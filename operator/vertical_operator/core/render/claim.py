"""The PersistentVolumeClaim of an engine store made from a template."""

from vertical_operator.api.v1alpha1.group import CLAIM, VERTICAL_SERVICE
from vertical_operator.api.v1alpha1.vertical_service import VerticalService
from vertical_operator.core.identity import store_claim
from vertical_operator.core.intents import Manifest
from vertical_operator.core.names import labels, owner_reference


def claim(service: VerticalService) -> Manifest | None:
    """None where the service names an existing claim."""
    template = service.spec.engine_store.volume_claim_template
    if template is None:
        return None
    storage_class = {"storageClassName": template.storage_class_name} if template.storage_class_name else {}
    return {
        "apiVersion": CLAIM.api_version,
        "kind": CLAIM.name,
        "metadata": {
            "name": store_claim(service),
            "namespace": service.metadata.namespace,
            "labels": labels(service=service.metadata.name),
            "ownerReferences": [owner_reference(VERTICAL_SERVICE.name, service.metadata)],
        },
        "spec": {**storage_class, "accessModes": list(template.access_modes), "resources": {"requests": {"storage": template.size}}},
    }
