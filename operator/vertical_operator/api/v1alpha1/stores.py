"""Where engines are stored: a claim, a claim made from a template, or a repository of an OCI registry."""

from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from vertical_engines.contract.frozen import Frozen
from vertical_operator.api.v1alpha1.rules import Rule, Ruled, exactly_one
from vertical_operator.api.v1alpha1.scalars import ObjectName, Size

Repository = Annotated[
    str,
    Field(
        max_length=253,
        pattern=r"^([a-z0-9-]+(\.[a-z0-9-]+)+(:[0-9]{1,5})?|[a-z0-9-]+:[0-9]{1,5})(/[a-z0-9]+([._-]+[a-z0-9]+)*)+$",
    ),
]
"""Host and folder, such as registry.example.com/team/engines; the host has a dot or a port."""


class ClaimReference(Frozen):
    """An existing PersistentVolumeClaim of the same namespace."""

    claim_name: ObjectName


class ClaimTemplate(Frozen):
    """A PersistentVolumeClaim that the operator makes and that goes with the service."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    storage_class_name: ObjectName | None = None
    """Left out: the cluster's default."""
    access_modes: Annotated[
        tuple[Literal["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"], ...], Field(min_length=1, max_length=4)
    ] = ("ReadWriteOnce",)
    size: Size


class PullSecret(Frozen):
    """A Secret of type kubernetes.io/dockerconfigjson in the same namespace."""

    name: ObjectName


OnDelete = Literal["Keep", "Delete"]


class RegistryStore(Frozen):
    """A repository of an OCI registry: engines are pushed by builds and pulled by serving pods, so no volume is shared."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    repository: Repository
    """Host and folder; an engine's tag is its key, and what serves is pinned by digest."""
    pull_secret_ref: PullSecret | None = None
    """Secret with the registry's password, which may push too."""
    insecure: bool = False
    """Plain HTTP."""
    on_delete: OnDelete = "Keep"
    """What becomes of an engine in the registry when its Engine object goes: other clusters may serve it, so it is kept."""


class EngineStore(Ruled):
    """Where engines live."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel="[has(self.persistentVolumeClaim), has(self.volumeClaimTemplate), has(self.registry)].filter(given, given).size() == 1",
            message="set exactly one engine store: persistentVolumeClaim, volumeClaimTemplate or registry",
            holds=exactly_one,
        ),
    )

    persistent_volume_claim: ClaimReference | None = None
    volume_claim_template: ClaimTemplate | None = None
    registry: RegistryStore | None = None


class StoreReference(Ruled):
    """The store of one engine: a claim, or a repository."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel="has(self.claimName) != has(self.repository)",
            message="set exactly one of claimName and repository",
            holds=exactly_one,
        ),
    )

    claim_name: ObjectName | None = None
    repository: Repository | None = None


class StoreAccess(Frozen):
    """How to get at a registry, and what to leave there: changes nothing of the engine, so it may change."""

    secret: ObjectName | None = None
    insecure: bool = False
    on_delete: OnDelete = "Keep"
