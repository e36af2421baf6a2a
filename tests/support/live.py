"""Live objects as an API server would show them, made from rendered manifests: for tests of plans."""

import copy
from datetime import UTC, datetime, timedelta
from typing import Any

from vertical_engines.contract.build import BuildFailure, BuildOutcome
from vertical_engines.contract.manifest import ManifestSummary
from vertical_engines.contract.reasons import Reason
from vertical_operator.api.v1alpha1 import Engine, VerticalService, parse
from vertical_operator.core.intents import Manifest
from vertical_operator.core.observed import ObservedService
from vertical_operator.core.plan import plan
from vertical_operator.core.settings import OperatorSettings

NOW = datetime(2026, 11, 29, 12, 0, 0, tzinfo=UTC)
SETTINGS = OperatorSettings()
UID = "5e4c1ce0-0000-4000-8000-000000000000"


def at(seconds: float) -> str:
    """A time relative to NOW, as the API server writes it."""
    return (NOW + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def owned_service(content: Manifest, *, generation: int = 1, uid: str = UID, age: float = 3600) -> VerticalService:
    """A VerticalService that the API server has."""
    content = copy.deepcopy(content)
    content["metadata"] |= {"uid": uid, "generation": generation, "creationTimestamp": at(-age)}
    return parse(VerticalService, content)


def stored(manifest: Manifest, *, age: float = 60, **metadata: Any) -> Manifest:
    """An applied manifest with what the server adds."""
    content = copy.deepcopy(manifest)
    name = content["metadata"]["name"]
    content["metadata"] = {
        "uid": f"uid-{content['kind']}-{name}",
        "resourceVersion": "7",
        "generation": 1,
        "creationTimestamp": at(-age),
        **content["metadata"],
        **metadata,
    }
    return content


def summary(key: str) -> ManifestSummary:
    return ManifestSummary(key=key, manifest_digest="d" * 64, size_bytes=90 * 2**20, build_seconds=6.1, built_at=at(-30), verified=True)


def condition(kind: str, status: str, reason: str, message: str = "", *, generation: int = 1) -> Manifest:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": generation,
        "lastTransitionTime": at(-30),
    }


def built_engine(manifest: Manifest, **metadata: Any) -> Manifest:
    content = stored(manifest, **metadata)
    built = summary(content["spec"]["key"]).model_dump(mode="json", by_alias=True, exclude_none=True)
    content["status"] = {"observedGeneration": 1, "conditions": [condition("Ready", "True", "Ready")], "manifest": built}
    return content


def stalled_engine(manifest: Manifest, reason: Reason, message: str) -> Manifest:
    content = stored(manifest)
    content["status"] = {"observedGeneration": 1, "conditions": [condition("Stalled", "True", reason.value, message)]}
    return content


def rolled_out(manifest: Manifest, *, ready: int | None = None, **metadata: Any) -> Manifest:
    """A Deployment with all its pods of the newest template; `ready` of them, all by default."""
    content = stored(manifest, **metadata)
    replicas = content["spec"]["replicas"]
    count = replicas if ready is None else ready
    content["status"] = {
        "observedGeneration": content["metadata"]["generation"],
        "replicas": replicas,
        "updatedReplicas": replicas,
        "readyReplicas": count,
        "availableReplicas": count,
    }
    return content


def pod_of(template_owner: Manifest, *, name: str = "pod-1", age: float = 60, **status: Any) -> Manifest:
    """A pod of a Deployment's or Job's template."""
    template = template_owner["spec"]["template"]
    owners = []
    if template_owner["kind"] == "Job":
        owners = [{"kind": "Job", "name": template_owner["metadata"]["name"], "uid": template_owner["metadata"]["uid"], "controller": True}]
    metadata = {"name": name, "namespace": template_owner["metadata"]["namespace"], "ownerReferences": owners, **template["metadata"]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"], "status": {"phase": "Pending", **status}}
    return stored(pod, age=age, uid=f"uid-{name}")


def ended(name: str, *, code: int, message: str = "", reason: str = "Error", init: bool = False) -> Manifest:
    """Status fields of a pod one of whose containers has ended."""
    state = {"terminated": {"exitCode": code, "message": message, "reason": reason}}
    return {"initContainerStatuses" if init else "containerStatuses": [{"name": name, "state": state, "ready": False}]}


def waits(name: str, reason: str, message: str = "", *, restarts: int = 0, last: str = "", init: bool = False) -> Manifest:
    """Status fields of a pod one of whose containers waits."""
    state: Manifest = {"name": name, "state": {"waiting": {"reason": reason, "message": message}}, "restartCount": restarts, "ready": False}
    if last:
        state["lastState"] = {"terminated": {"exitCode": 1, "message": last, "reason": "Error"}}
    return {"initContainerStatuses" if init else "containerStatuses": [state]}


def failure_words(reason: Reason, message: str) -> str:
    return BuildOutcome(failure=BuildFailure(reason=reason, message=message, log=["last line"])).to_termination_message()


def gpu_node(product: str) -> Manifest:
    return {"kind": "Node", "metadata": {"name": f"node-{product}".lower(), "labels": {"nvidia.com/gpu.product": product}}}


def applied(service: VerticalService, objects: list[Manifest], kind: str) -> list[Manifest]:
    """What the plan over these objects applies of one kind."""
    return [
        a.manifest for a in plan(service, ObservedService.of(objects), settings=SETTINGS, now=NOW).applies if a.manifest["kind"] == kind
    ]


def serving(service: VerticalService, *others: Manifest) -> list[Manifest]:
    """Every object of a service that is all well."""
    objects = list(others)
    objects += [built_engine(manifest) for manifest in applied(service, objects, "Engine")]
    for kind in ("PersistentVolumeClaim", "Service", "ConfigMap"):
        objects += [stored(manifest) for manifest in applied(service, objects, kind)]
    return objects + [rolled_out(manifest) for manifest in applied(service, objects, "Deployment")]


def as_engine(manifest: Manifest, **metadata: Any) -> Engine:
    """An applied Engine as the server has it, our finalizer on it."""
    return parse(Engine, stored(manifest, **({"finalizers": ["serving.vertical-operator.io/store"]} | metadata)))
