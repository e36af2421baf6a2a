"""What was seen in the cluster, projected to the few fields that plans depend on."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from vertical_operator.api.v1alpha1.engine import Engine
from vertical_operator.api.v1alpha1.group import (
    CLAIM,
    CONFIG_MAP,
    DEPLOYMENT,
    ENGINE,
    ENGINE_KEY_ANNOTATION,
    GPU_PRODUCT_LABEL,
    INTENT_ANNOTATION,
    JOB,
    NAMESPACE,
    NODE,
    PLACEMENT_LABEL,
    POD,
    QUEUE_LABEL,
    SERVICE,
    VARIANT_LABEL,
)
from vertical_operator.api.v1alpha1.parse import InvalidObject, parse
from vertical_operator.core.pods import PodState, moment

FETCH = "fetch"
"""Container of a build's pod that fetches the model."""


@dataclass(frozen=True)
class ChildState:
    """Any child: who owns it, and what tells it from another object of the same name."""

    name: str
    uid: str
    resource_version: str = ""
    controller: str = ""
    """UID of the controlling owner; empty when nobody controls it."""
    controller_text: str = "nobody"
    deleted_at: datetime | None = None
    """When its deletion began."""
    variant: str = ""
    placement: str = ""
    intent: str = ""
    """Digest of what we applied last."""

    @staticmethod
    def fields(content: dict[str, Any]) -> dict[str, Any]:
        metadata = content["metadata"]
        labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
        owner = next((o for o in metadata.get("ownerReferences") or [] if o.get("controller")), None)
        return {
            "name": metadata["name"],
            "uid": metadata.get("uid", ""),
            "resource_version": metadata.get("resourceVersion", ""),
            "controller": owner["uid"] if owner else "",
            "controller_text": f"{owner['kind']} {owner['name']}" if owner else "nobody",
            "deleted_at": moment(metadata.get("deletionTimestamp")),
            "variant": labels.get(VARIANT_LABEL, ""),
            "placement": labels.get(PLACEMENT_LABEL, ""),
            "intent": annotations.get(INTENT_ANNOTATION, ""),
        }

    @property
    def deleting(self) -> bool:
        return self.deleted_at is not None

    @classmethod
    def of(cls, content: dict[str, Any]) -> "ChildState":
        return cls(**cls.fields(content))


@dataclass(frozen=True)
class DeploymentState(ChildState):
    engine_key: str = ""
    config_maps: frozenset[str] = frozenset()
    current: bool = False
    """The Deployment controller has seen the newest generation."""
    replicas: int = 0
    total: int = 0
    updated: int = 0
    ready: int = 0
    available: int = 0
    deadline_exceeded: bool = False
    failure: str = ""
    """Why no pod can be made (quota, admission), in the API server's words."""

    @classmethod
    def of(cls, content: dict[str, Any]) -> "DeploymentState":
        metadata, spec, status = content["metadata"], content.get("spec") or {}, content.get("status") or {}
        conditions = {c["type"]: c for c in status.get("conditions") or []}
        failed = conditions.get("ReplicaFailure", {})
        volumes = ((spec.get("template") or {}).get("spec") or {}).get("volumes") or []
        return cls(
            **cls.fields(content),
            engine_key=(metadata.get("annotations") or {}).get(ENGINE_KEY_ANNOTATION, ""),
            config_maps=frozenset(v["configMap"].get("name", "") for v in volumes if v.get("configMap")),
            current=status.get("observedGeneration", 0) >= metadata.get("generation", 1),
            replicas=spec.get("replicas", 1),
            total=status.get("replicas", 0),
            updated=status.get("updatedReplicas", 0),
            ready=status.get("readyReplicas", 0),
            available=status.get("availableReplicas", 0),
            deadline_exceeded=conditions.get("Progressing", {}).get("reason") == "ProgressDeadlineExceeded",
            failure=failed.get("message", "") if failed.get("status") == "True" else "",
        )

    @property
    def rolled_out(self) -> bool:
        """Every pod is of the newest template and available; no older one is left."""
        return self.current and self.updated == self.total == self.available == self.replicas


@dataclass(frozen=True)
class JobState(ChildState):
    complete: bool = False
    failed: bool = False
    failed_reason: str = ""
    failed_message: str = ""
    started: datetime | None = None
    finished: datetime | None = None
    queue: str = ""
    """Kueue's queue that it is in."""
    suspended: bool = False

    @classmethod
    def of(cls, content: dict[str, Any]) -> "JobState":
        status = content.get("status") or {}
        conditions = {c["type"]: c for c in status.get("conditions") or [] if c.get("status") == "True"}
        failed, complete = conditions.get("Failed"), conditions.get("Complete")
        ended = failed or complete or {}
        return cls(
            **cls.fields(content),
            complete=complete is not None,
            failed=failed is not None,
            failed_reason=(failed or {}).get("reason", ""),
            failed_message=(failed or {}).get("message", ""),
            started=moment(status.get("startTime")),
            finished=moment(ended.get("lastTransitionTime")),
            queue=(content["metadata"].get("labels") or {}).get(QUEUE_LABEL, ""),
            suspended=bool((content.get("spec") or {}).get("suspend")),
        )


@dataclass(frozen=True)
class ClaimState(ChildState):
    phase: str = "Pending"
    created: datetime | None = None

    @classmethod
    def of(cls, content: dict[str, Any]) -> "ClaimState":
        created = moment(content["metadata"].get("creationTimestamp"))
        return cls(**cls.fields(content), phase=(content.get("status") or {}).get("phase", "Pending"), created=created)


def _named(objects: Iterable[dict[str, Any]], kind: str) -> dict[str, dict[str, Any]]:
    return {content["metadata"]["name"]: content for content in objects if content.get("kind") == kind}


@dataclass(frozen=True)
class ObservedService:
    """Everything that a plan for a VerticalService depends on, by object name. Foreign objects are in it too."""

    engines: dict[str, Engine] = field(default_factory=dict)
    claims: dict[str, ClaimState] = field(default_factory=dict)
    deployments: dict[str, DeploymentState] = field(default_factory=dict)
    services: dict[str, ChildState] = field(default_factory=dict)
    config_maps: dict[str, ChildState] = field(default_factory=dict)
    pods: tuple[PodState, ...] = ()
    gpu_products: frozenset[str] = frozenset()

    @classmethod
    def of(cls, objects: Iterable[dict[str, Any]]) -> "ObservedService":
        """From raw objects; each must carry its `kind`. An Engine that cannot be read is left out: it is applied anew."""
        seen = list(objects)
        labels = [content["metadata"].get("labels") or {} for content in _named(seen, NODE.name).values()]
        return cls(
            engines=_engines(seen),
            claims={name: ClaimState.of(content) for name, content in _named(seen, CLAIM.name).items()},
            deployments={name: DeploymentState.of(content) for name, content in _named(seen, DEPLOYMENT.name).items()},
            services={name: ChildState.of(content) for name, content in _named(seen, SERVICE.name).items()},
            config_maps={name: ChildState.of(content) for name, content in _named(seen, CONFIG_MAP.name).items()},
            pods=tuple(PodState.of(content) for _, content in sorted(_named(seen, POD.name).items())),
            gpu_products=frozenset(label[GPU_PRODUCT_LABEL] for label in labels if label.get(GPU_PRODUCT_LABEL)),
        )


def _engines(objects: Iterable[dict[str, Any]]) -> dict[str, Engine]:
    engines = {}
    for name, content in _named(objects, ENGINE.name).items():
        try:
            engines[name] = parse(Engine, content)
        except InvalidObject:
            continue
    return engines


@dataclass(frozen=True)
class ObservedEngine:
    """Everything that a plan for an Engine depends on."""

    jobs: dict[str, JobState] = field(default_factory=dict)
    claims: dict[str, ClaimState] = field(default_factory=dict)
    pods: tuple[PodState, ...] = ()
    """Pods of its Jobs only, oldest first."""
    readers: tuple[PodState, ...] = ()
    """Pods that serve it and are not over."""
    namespace_terminating: bool = False
    progress: str = ""
    """What the fetching pod says of itself."""

    @property
    def fetching_at(self) -> str | None:
        """IP address of the newest pod whose container `fetch` runs."""
        addresses = [
            pod.address for pod in self.pods if pod.address and not pod.over and any(c.name == FETCH and c.running for c in pod.containers)
        ]
        return addresses[-1] if addresses else None

    @classmethod
    def of(cls, objects: Iterable[dict[str, Any]]) -> "ObservedEngine":
        """From raw objects; each must carry its `kind`."""
        seen = list(objects)
        pods = sorted((PodState.of(content) for content in _named(seen, POD.name).values()), key=lambda pod: (str(pod.created), pod.name))
        return cls(
            jobs={name: JobState.of(content) for name, content in _named(seen, JOB.name).items()},
            claims={name: ClaimState.of(content) for name, content in _named(seen, CLAIM.name).items()},
            pods=tuple(pod for pod in pods if pod.job),
            readers=tuple(pod for pod in pods if not pod.job and not pod.over),
            namespace_terminating=any("deletionTimestamp" in c["metadata"] for c in _named(seen, NAMESPACE.name).values()),
        )
