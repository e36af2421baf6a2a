"""From variant and placement to the engine that they need: effective toolchain, identity, key and name."""

from dataclasses import dataclass
from functools import cached_property

from vertical_engines.contract.engine import Accelerator, EngineIdentity, Toolchain, model_version, short_key
from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.toolchains import Release, release, release_names
from vertical_operator.api.v1alpha1.group import DEPLOYMENT
from vertical_operator.api.v1alpha1.variant import Placement, ToolchainSpec, Variant
from vertical_operator.api.v1alpha1.vertical_service import VerticalService
from vertical_operator.core.names import child_name, claim_name, engine_name
from vertical_operator.core.settings import OperatorSettings


@dataclass(frozen=True)
class Refusal:
    """Why a placement can't be built or served as it is written, and what to change."""

    reason: Reason
    message: str


@dataclass(frozen=True)
class Target:
    """One placement of one variant with everything that was resolved for it."""

    service: VerticalService
    variant: Variant
    placement: Placement
    release: Release
    identity: EngineIdentity
    claim: str
    """Claim of the engine store."""

    @cached_property
    def key(self) -> str:
        return self.identity.key()

    @property
    def short(self) -> str:
        return short_key(self.key)

    @property
    def model_version(self) -> int:
        return model_version(self.key)

    @property
    def engine(self) -> str:
        """Name of the Engine object."""
        return engine_name(self.key, claim=self.claim)

    @property
    def workload(self) -> str:
        """Name of the Deployment."""
        return child_name(self.service.metadata.name, self.variant.name, self.placement.name)

    @property
    def where(self) -> str:
        return f"variant {self.variant.name}, placement {self.placement.name}"

    def __str__(self) -> str:
        return f"{DEPLOYMENT.name} {self.workload}"


def store_claim(service: VerticalService) -> str:
    """Name of the claim that holds the service's engines."""
    given = service.spec.engine_store.persistent_volume_claim
    return given.claim_name if given else claim_name(service.metadata.name)


def effective_toolchain(service: VerticalService, variant: Variant, *, placement: Placement) -> ToolchainSpec:
    """The nearest one: placement, then variant, then service. The schema sees to it that there is one."""
    chosen = placement.toolchain or variant.toolchain or service.spec.toolchain
    if chosen is None:
        raise ValueError(f"no toolchain for placement {placement.name} of variant {variant.name}")
    return chosen


def toolchain_image(spec: ToolchainSpec, row: Release, *, settings: OperatorSettings) -> str:
    """The image that builds and serves: the object's own, else the installation's, else the matrix row's behind the registry prefix."""
    if spec.image:
        return spec.image
    override = settings.toolchain_images.get(f"{row.backend}/{row.release}")
    if override:
        return override
    return f"{settings.registry.rstrip('/')}/{row.image}" if settings.registry else row.image


def resolve(service: VerticalService, variant: Variant, *, placement: Placement, settings: OperatorSettings) -> Target | Refusal:
    """The target of a placement, or why the matrix has none."""
    spec = effective_toolchain(service, variant, placement=placement)
    row = release(backend=spec.backend, name=spec.release)
    if row is None:
        known = ", ".join(release_names(spec.backend)) or "no release of this backend"
        where = f"variant {variant.name}, placement {placement.name}"
        return Refusal(Reason.UNKNOWN_TOOLCHAIN, f"{where}: {spec.backend} has no release {spec.release}; choose one of: {known}")
    model, accelerator = service.spec.model, placement.accelerator
    identity = EngineIdentity(
        source=model.source.as_contract(),
        revision=model.revision,
        weights=model.weights,
        build=variant.build_config.flags(),
        toolchain=Toolchain(backend=spec.backend, release=spec.release, image=toolchain_image(spec, row, settings=settings)),
        accelerator=Accelerator(product=accelerator.product, count=accelerator.count) if accelerator else None,
    )
    return Target(service=service, variant=variant, placement=placement, release=row, identity=identity, claim=store_claim(service))


def targets(service: VerticalService, settings: OperatorSettings) -> tuple[Target | Refusal, ...]:
    """Every placement in the order of the spec."""
    return tuple(
        resolve(service, variant, placement=placement, settings=settings)
        for variant in service.spec.variants
        for placement in variant.placements
    )
