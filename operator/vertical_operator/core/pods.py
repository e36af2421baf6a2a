"""Pods and their containers as the planner sees them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from vertical_engines.contract.build import BuildOutcome
from vertical_operator.api.v1alpha1.group import ENGINE_LABEL, JOB, PLACEMENT_LABEL, REVISION_ANNOTATION, VARIANT_LABEL

IMAGE_REASONS = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable")


def moment(text: str | None) -> datetime | None:
    """An RFC 3339 time of the API server; None when it is missing."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None


@dataclass(frozen=True)
class ContainerState:
    """One container, init or not. Words of the kubelet as they are."""

    name: str
    image: str = ""
    ready: bool = False
    running: bool = False
    restarts: int = 0
    waiting_reason: str = ""
    waiting_message: str = ""
    exit_code: int | None = None
    """Of the newest end; None while it has not ended yet."""
    exit_reason: str = ""
    exit_message: str = ""

    @classmethod
    def of(cls, status: dict[str, Any], *, image: str) -> "ContainerState":
        state = status.get("state") or {}
        waiting = state.get("waiting") or {}
        ended = state.get("terminated") or (status.get("lastState") or {}).get("terminated") or {}
        return cls(
            name=status.get("name", ""),
            image=image,
            ready=bool(status.get("ready")),
            running="running" in state,
            restarts=status.get("restartCount", 0),
            waiting_reason=waiting.get("reason", ""),
            waiting_message=waiting.get("message", ""),
            exit_code=ended.get("exitCode"),
            exit_reason=ended.get("reason", ""),
            exit_message=ended.get("message", ""),
        )

    @property
    def outcome(self) -> BuildOutcome | None:
        """What one of our containers left as its last words."""
        return BuildOutcome.from_termination_message(self.exit_message) if self.exit_message else None

    @property
    def image_unavailable(self) -> bool:
        return self.waiting_reason in IMAGE_REASONS


@dataclass(frozen=True)
class PodState:
    name: str
    uid: str
    created: datetime | None
    since: datetime | None = None
    """When it became ready or stopped being ready; its creation before that."""
    job: str = ""
    """UID of the Job that owns it."""
    variant: str = ""
    placement: str = ""
    engine: str = ""
    revision: str = ""
    address: str = ""
    """IP address; empty until the pod has one."""
    phase: str = "Pending"
    ready: bool = False
    deleting: bool = False
    unscheduled: str = ""
    """The scheduler's words while it finds no node."""
    config_maps: frozenset[str] = frozenset()
    containers: tuple[ContainerState, ...] = ()

    @classmethod
    def of(cls, content: dict[str, Any]) -> "PodState":
        metadata, spec, status = content["metadata"], content.get("spec") or {}, content.get("status") or {}
        labels, conditions = metadata.get("labels") or {}, {c["type"]: c for c in status.get("conditions") or []}
        images = {c["name"]: c.get("image", "") for c in (*(spec.get("initContainers") or []), *(spec.get("containers") or []))}
        states = (*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or []))
        scheduled = conditions.get("PodScheduled", {})
        return cls(
            name=metadata["name"],
            uid=metadata.get("uid", ""),
            created=moment(metadata.get("creationTimestamp")),
            since=moment(conditions.get("Ready", {}).get("lastTransitionTime") or metadata.get("creationTimestamp")),
            job=next((o["uid"] for o in metadata.get("ownerReferences") or [] if o.get("kind") == JOB.name), ""),
            variant=labels.get(VARIANT_LABEL, ""),
            placement=labels.get(PLACEMENT_LABEL, ""),
            engine=labels.get(ENGINE_LABEL, ""),
            revision=(metadata.get("annotations") or {}).get(REVISION_ANNOTATION, ""),
            address=status.get("podIP", ""),
            phase=status.get("phase", "Pending"),
            ready=conditions.get("Ready", {}).get("status") == "True",
            deleting="deletionTimestamp" in metadata,
            unscheduled=scheduled.get("message", "unschedulable") if scheduled.get("status") == "False" else "",
            config_maps=frozenset(v["configMap"].get("name", "") for v in spec.get("volumes") or [] if v.get("configMap")),
            containers=tuple(ContainerState.of(state, image=images.get(state.get("name", ""), "")) for state in states),
        )

    @property
    def over(self) -> bool:
        return self.phase in ("Succeeded", "Failed")
