"""What an engine is built for, as far as builders decide by it: the release, the GPU and the number types that follow."""

from dataclasses import dataclass

from vertical_engines.builders.tensorrt_llm.checkpoint import Checkpoint
from vertical_engines.contract.engine import EngineIdentity
from vertical_engines.contract.gpus import Architecture, Gpu
from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.toolchains import Matrix, Release
from vertical_engines.failure import Failure

FLOATS = ("float16", "bfloat16")


@dataclass(frozen=True)
class BuildTarget:
    """`gpu` is None for a product that the matrix does not know: then nothing is switched off for it."""

    identity: EngineIdentity
    release: Release
    gpu: Gpu | None
    architecture: Architecture

    @property
    def gpus(self) -> int:
        """GPUs of one engine: its tensor parallelism."""
        return self.identity.accelerator.count if self.identity.accelerator else 1

    @property
    def product(self) -> str:
        return self.identity.accelerator.product if self.identity.accelerator else "CPU"

    @property
    def where(self) -> str:
        return f"{self.identity.toolchain.backend} {self.release.release} on {self.product}"

    def can_compute(self, dtype: str) -> bool:
        return not self.architecture.dtypes or dtype in self.architecture.dtypes

    def dtype(self, checkpoint: Checkpoint) -> str:
        """Number type of activations, and of weights that are not quantised: asked for, else the source's if the GPU can, else float16."""
        wanted = self.identity.weights
        if wanted in FLOATS:
            return wanted
        return "bfloat16" if checkpoint.dtype == "bfloat16" and self.can_compute("bfloat16") else "float16"


def build_target(identity: EngineIdentity, *, matrix: Matrix) -> BuildTarget:
    """Raises Failure: UnknownToolchain, GpuArchUnsupported, DtypeUnsupported. What the operator refuses too is refused here again, for
    an engine may be asked for by hand."""
    toolchain, accelerator = identity.toolchain, identity.accelerator
    release = matrix.release(backend=toolchain.backend, name=toolchain.release)
    if release is None:
        known = ", ".join(matrix.release_names(toolchain.backend))
        raise Failure(Reason.UNKNOWN_TOOLCHAIN, f"this image knows no {toolchain.backend} {toolchain.release}; it knows {known}")
    if accelerator is None:
        raise Failure(Reason.INVALID_SPEC, f"{toolchain.backend} builds on a GPU: set accelerator.product in the placement")
    gpu = matrix.gpu(accelerator.product)
    if gpu and not release.runs_on(gpu.sm):
        fitting = [row.release for row in matrix.releases if row.backend == toolchain.backend and row.runs_on(gpu.sm)]
        raise Failure(
            Reason.GPU_ARCH_UNSUPPORTED,
            f"{toolchain.backend} {release.release} has no code for {accelerator.product} (SM {gpu.sm}); releases that have: "
            f"{', '.join(fitting) or 'none'}",
        )
    layout = identity.build.kv_layout
    if not any(layout in layouts for layouts in release.batching.values()):
        raise Failure(
            Reason.KV_CACHE_BATCHING_CONFLICT,
            f"{toolchain.backend} {release.release} can't serve a {layout} KV cache: set plugin_config.paged_kv_cache to true (with "
            "max_batch_size 1 for one request at a time), or choose an older release",
        )
    target = BuildTarget(identity, release, gpu, matrix.architecture(gpu.sm) if gpu else Architecture())
    if identity.weights != "source" and not target.can_compute(identity.weights):
        able = ", ".join(target.architecture.dtypes)
        raise Failure(Reason.DTYPE_UNSUPPORTED, f"{target.product} can't compute in {identity.weights}, but in {able}: set model.weights")
    return target
