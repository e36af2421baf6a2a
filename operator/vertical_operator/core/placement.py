"""Policies: named pure functions that say whether a target can be built and served at all, in one list in their order."""

from collections.abc import Callable
from typing import TypeAlias

from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.toolchains import gpu, releases
from vertical_operator.core.identity import Refusal, Target
from vertical_operator.core.names import listed

GpuProducts: TypeAlias = frozenset[str] | None
"""Products that nodes of the cluster have; None: not known (offline)."""

Policy: TypeAlias = Callable[[Target, GpuProducts], Refusal | None]


def source_cannot_be_fetched(target: Target, products: GpuProducts) -> Refusal | None:
    source = target.service.spec.model.source
    given = "huggingFace" if source.hugging_face else "objectStore" if source.object_store else ""
    if not given:
        return None
    return Refusal(
        Reason.UNSUPPORTED_MODEL_SOURCE,
        f"spec.model.source.{given} is not supported by this version: put the model into an image or a PersistentVolumeClaim",
    )


def backend_needs_gpu(target: Target, products: GpuProducts) -> Refusal | None:
    if target.identity.accelerator or target.release.cpu_only:
        return None
    return Refusal(
        Reason.INVALID_SPEC,
        f"{target.where}: backend {target.release.backend} needs a GPU: set accelerator.product, or use backend OpenVINO for CPUs",
    )


def release_lacks_gpu(target: Target, products: GpuProducts) -> Refusal | None:
    """A product that the matrix does not know is let through: what it can do is not known either."""
    accelerator = target.identity.accelerator
    if accelerator is None:
        return None
    row = f"{target.release.backend} {target.release.release}"
    if target.release.cpu_only:
        return Refusal(
            Reason.GPU_ARCH_UNSUPPORTED, f"{target.where}: {row} runs on CPUs only: remove accelerator, or choose another backend"
        )
    known = gpu(accelerator.product)
    if known is None or target.release.runs_on(known.sm):
        return None
    fitting = [r.release for r in releases() if r.backend == target.release.backend and r.runs_on(known.sm)]
    return Refusal(
        Reason.GPU_ARCH_UNSUPPORTED,
        f"{target.where}: {row} does not run on {accelerator.product} (SM{known.sm}); releases that do: {listed(fitting)}",
    )


def no_node_has_gpu(target: Target, products: GpuProducts) -> Refusal | None:
    accelerator = target.identity.accelerator
    if accelerator is None or products is None or accelerator.product in products:
        return None
    return Refusal(
        Reason.NO_MATCHING_GPU,
        f"{target.where}: no node has the label nvidia.com/gpu.product={accelerator.product}; products in this cluster: "
        f"{listed(sorted(products))}",
    )


def release_cannot_serve_layout(target: Target, products: GpuProducts) -> Refusal | None:
    layout = target.identity.build.kv_layout
    if target.variant.effective_batching == "InFlight" or target.release.serves("Static", layout):
        return None
    return Refusal(
        Reason.KV_CACHE_BATCHING_CONFLICT,
        f"{target.where}: {target.release.backend} {target.release.release} can't serve a {layout} KV cache: set "
        "buildConfig.plugin_config.paged_kv_cache to true (with max_batch_size 1 for one request at a time), or choose an older release",
    )


def prefix_cache_needs_in_flight(target: Target, products: GpuProducts) -> Refusal | None:
    cache = target.variant.prefix_cache
    if cache is None or not cache.enabled or target.variant.effective_batching == "InFlight":
        return None
    return Refusal(
        Reason.KV_CACHE_BATCHING_CONFLICT,
        f"{target.where}: prefixCache works with batching InFlight only: remove prefixCache, or set batching to InFlight",
    )


def openvino_lacks_flag(target: Target, products: GpuProducts) -> Refusal | None:
    if target.release.backend != "OpenVINO":
        return None
    cache = target.variant.prefix_cache
    unknown = {
        "buildConfig.max_beam_width above 1": target.identity.build.max_beam_width > 1,
        "model.weights fp8": target.identity.weights == "fp8",
        "prefixCache.hostMemory": cache is not None and cache.host_memory is not None,
    }
    given = [name for name, used in unknown.items() if used]
    if not given:
        return None
    return Refusal(Reason.UNSUPPORTED_BUILD_FLAG, f"{target.where}: backend OpenVINO has no {' and no '.join(given)}: remove it")


POLICIES: tuple[Policy, ...] = (
    source_cannot_be_fetched,
    backend_needs_gpu,
    release_lacks_gpu,
    release_cannot_serve_layout,
    prefix_cache_needs_in_flight,
    openvino_lacks_flag,
    no_node_has_gpu,
)
"""What the spec itself gets wrong comes before what the cluster lacks."""


def refusal(target: Target, products: GpuProducts) -> Refusal | None:
    """The first policy that objects."""
    return next((found for policy in POLICIES if (found := policy(target, products))), None)
