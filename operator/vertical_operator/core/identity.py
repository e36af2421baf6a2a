"""From variant and placement to the engine that they need: effective toolchain, identity, key and name."""

from dataclasses import dataclass
from functools import cached_property

from vertical_engines.contract.engine import Accelerator, BuildFlags, EngineIdentity, Toolchain, model_version, short_key
from vertical_engines.contract.gpus import Gpu
from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.toolchains import Matrix, Release
from vertical_operator.api.v1alpha1.group import DEPLOYMENT
from vertical_operator.api.v1alpha1.stores import StoreAccess, StoreReference
from vertical_operator.api.v1alpha1.variant import Placement, ToolchainSpec, Variant
from vertical_operator.api.v1alpha1.vertical_service import VerticalService
from vertical_operator.core.finding import Finding
from vertical_operator.core.names import child_name, claim_name, engine_name
from vertical_operator.core.settings import OperatorSettings


@dataclass(frozen=True)
class Target:
    """One placement of one variant with everything that was resolved for it."""

    service: VerticalService
    variant: Variant
    placement: Placement
    release: Release
    identity: EngineIdentity
    store: StoreReference
    matrix: Matrix
    path: str
    """Of the placement in the object: `spec.variants[0].placements[1]`."""
    toolchain_path: str
    """Where its toolchain is written: at the service, the variant or the placement."""

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
        return engine_name(self.key, store=self.store.claim_name or self.store.repository or "")

    @property
    def workload(self) -> str:
        """Name of the Deployment."""
        return child_name(self.service.metadata.name, self.variant.name, self.placement.name)

    @property
    def variant_path(self) -> str:
        return self.path.rsplit(".", 1)[0]

    @property
    def row(self) -> str:
        """The toolchain as people name it."""
        return f"{self.release.backend} {self.release.release}"

    @cached_property
    def gpu(self) -> Gpu | None:
        """What the matrix knows of the placement's GPU; None: CPU, or a product that it does not know."""
        accelerator = self.identity.accelerator
        return self.matrix.gpu(accelerator.product) if accelerator else None

    @property
    def where(self) -> str:
        return f"variant {self.variant.name}, placement {self.placement.name}"

    def __str__(self) -> str:
        return f"{DEPLOYMENT.name} {self.workload}"


def store_claim(service: VerticalService) -> str | None:
    """Name of the claim that holds the service's engines; None where a registry does."""
    store = service.spec.engine_store
    if store.registry:
        return None
    given = store.persistent_volume_claim
    return given.claim_name if given else claim_name(service.metadata.name)


def engine_store(service: VerticalService) -> StoreReference:
    registry = service.spec.engine_store.registry
    return StoreReference(repository=registry.repository) if registry else StoreReference(claim_name=store_claim(service))


def store_access(service: VerticalService) -> StoreAccess:
    registry = service.spec.engine_store.registry
    if registry is None:
        return StoreAccess()
    secret = registry.pull_secret_ref.name if registry.pull_secret_ref else None
    return StoreAccess(secret=secret, insecure=registry.insecure, on_delete=registry.on_delete)


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


SHARED_ATTENTION = "use_paged_context_fmha"


def _build_flags(variant: Variant, row: Release, *, gpu: Gpu | None, matrix: Matrix) -> BuildFlags:
    """The build configuration, and what serving asks of the build: TensorRT-LLM shares prefixes only in engines that were built for it.

    It enters as the plugin key that people could write themselves, so that both ways give one engine and no other backend's key changes.
    """
    flags, cache = variant.build_config.flags(), variant.prefix_cache
    wanted = cache is not None and cache.enabled and variant.effective_batching == "InFlight" and row.backend == "TensorRTLLM"
    able = gpu is None or matrix.architecture(gpu.sm).context_fmha
    if not (wanted and able) or SHARED_ATTENTION in flags.plugin_config:
        return flags
    return flags.model_copy(update={"plugin_config": {**flags.plugin_config, SHARED_ATTENTION: True}})


def resolve(service: VerticalService, variant: Variant, *, placement: Placement, settings: OperatorSettings) -> Target | Finding:
    """The target of a placement, or why the matrix has none."""
    spec = effective_toolchain(service, variant, placement=placement)
    path = _path(service, variant, placement=placement)
    toolchain_path = _toolchain_path(variant, placement=placement, path=path)
    row = settings.matrix.release(backend=spec.backend, name=spec.release)
    if row is None:
        known = ", ".join(settings.matrix.release_names(spec.backend)) or "none; choose another backend"
        return Finding(
            policy="unknown_release",
            field=f"{toolchain_path}.release",
            where=f"variant {variant.name}, placement {placement.name}",
            reason=Reason.UNKNOWN_TOOLCHAIN,
            what=f"{spec.backend} has no release {spec.release}",
            why="the compatibility matrix has no such row",
            instead=f"choose one of: {known}",
        )
    model, accelerator = service.spec.model, placement.accelerator
    identity = EngineIdentity(
        source=model.source.as_contract(),
        revision=model.revision,
        weights=model.weights,
        build=_build_flags(variant, row, gpu=settings.matrix.gpu(accelerator.product) if accelerator else None, matrix=settings.matrix),
        toolchain=Toolchain(backend=spec.backend, release=spec.release, image=toolchain_image(spec, row, settings=settings)),
        accelerator=Accelerator(product=accelerator.product, count=accelerator.count) if accelerator else None,
    )
    return Target(
        service=service,
        variant=variant,
        placement=placement,
        release=row,
        identity=identity,
        store=engine_store(service),
        matrix=settings.matrix,
        path=path,
        toolchain_path=toolchain_path,
    )


def _path(service: VerticalService, variant: Variant, *, placement: Placement) -> str:
    outer = next(number for number, found in enumerate(service.spec.variants) if found.name == variant.name)
    inner = next(number for number, found in enumerate(variant.placements) if found.name == placement.name)
    return f"spec.variants[{outer}].placements[{inner}]"


def _toolchain_path(variant: Variant, *, placement: Placement, path: str) -> str:
    if placement.toolchain:
        return f"{path}.toolchain"
    return f"{path.rsplit('.', 1)[0]}.toolchain" if variant.toolchain else "spec.toolchain"


def targets(service: VerticalService, settings: OperatorSettings) -> tuple[Target | Finding, ...]:
    """Every placement in the order of the spec."""
    return tuple(
        resolve(service, variant, placement=placement, settings=settings)
        for variant in service.spec.variants
        for placement in variant.placements
    )
