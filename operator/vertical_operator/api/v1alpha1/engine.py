"""The Engine kind: one build product; made by the operator, read by people."""

from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from vertical_engines.contract.engine import EngineIdentity
from vertical_engines.contract.frozen import Frozen
from vertical_engines.contract.manifest import ManifestSummary, StoreUsage
from vertical_operator.api.v1alpha1.conditions import Condition
from vertical_operator.api.v1alpha1.group import API_VERSION
from vertical_operator.api.v1alpha1.metadata import ObjectMeta
from vertical_operator.api.v1alpha1.rules import Rule, Ruled
from vertical_operator.api.v1alpha1.scalars import QueueName, Text, TritonName, distinct, list_map
from vertical_operator.api.v1alpha1.service_status import Message, Short
from vertical_operator.api.v1alpha1.sources import ModelAccess
from vertical_operator.api.v1alpha1.stores import PullSecret, StoreAccess, StoreReference
from vertical_operator.api.v1alpha1.variant import Resources, Toleration


class Scheduling(Frozen):
    """Where and with what the build runs: changes nothing of the engine, so it may change."""

    node_selector: Annotated[dict[str, Text], Field(max_length=16)] = Field(default_factory=dict)
    tolerations: Annotated[tuple[Toleration, ...], Field(max_length=17)] = ()
    resources: Resources | None = None
    image_pull_secrets: Annotated[tuple[PullSecret, ...], list_map("name", max_items=8), distinct("name")] = ()
    queue_name: QueueName | None = None


def _frozen(field: str) -> Rule:
    return Rule(
        cel=f"self.{field} == oldSelf.{field}",
        message=f"{field} of an Engine never changes: change the VerticalService, and the operator makes another Engine",
    )


class EngineSpec(Ruled):
    """Identity of the engine and where it is stored; immutable but for scheduling and the roads to model and store."""

    model_config = ConfigDict(use_attribute_docstrings=True)
    rules: ClassVar[tuple[Rule, ...]] = tuple(_frozen(field) for field in ("key", "identity", "store", "modelName"))

    key: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", max_length=64)]
    """Engine key: digest of the identity."""
    identity: EngineIdentity
    """Everything that the engine's bytes depend on."""
    model_name: TritonName = "generator"
    """For people: the SLM's name in Triton."""
    store: StoreReference
    """Claim or repository that holds the engine."""
    scheduling: Scheduling = Scheduling()
    access: ModelAccess = ModelAccess()
    store_access: StoreAccess = StoreAccess()


class FailureStatus(Frozen):
    """A translated build failure."""

    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)

    reason: Short
    message: Message = ""
    log: Annotated[tuple[Annotated[str, Field(max_length=1024)], ...], Field(max_length=50)] = ()
    """Last lines of the build's log."""


class EngineStatus(Frozen):
    """Written by the operator only."""

    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)

    observed_generation: Annotated[int, Field(ge=-1)] = -1
    conditions: Annotated[tuple[Condition, ...], list_map("type", max_items=16), distinct("type")] = ()
    state: Short = ""
    """Reason of the summarising condition, for the column State."""
    message: Message = ""
    flags: Short = ""
    """Limits in short, such as in512/out32/batch8/paged."""
    gpu: Short = ""
    """Product and count, or CPU."""
    toolchain: Short = ""
    build_time: Short = ""
    size: Short = ""
    manifest: ManifestSummary | None = None
    """Summary of the engine's manifest; set once it is built."""
    store: StoreUsage | None = None
    """The volume of the store when the build ended: how large, how much of it free, how many engines."""
    failure: FailureStatus | None = None


class Engine(Frozen):
    """An immutable build product of model, build flags, toolchain and GPU type."""

    api_version: Literal["serving.vertical-operator.io/v1alpha1"] = API_VERSION
    kind: Literal["Engine"] = "Engine"
    metadata: ObjectMeta
    spec: EngineSpec
    status: EngineStatus = EngineStatus()
