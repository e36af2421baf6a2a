"""The machine that builds: GPUs as nvidia-smi names them, and versions of what is installed in the image."""

import platform
from importlib import metadata

from vertical_engines.contract.engine import EngineIdentity
from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.versions import Version
from vertical_engines.failure import Failure
from vertical_engines.repository.engine_check import same_product, visible_gpus

DISTRIBUTIONS = ("tensorrt_llm", "tensorrt", "torch", "transformers", "nvidia-modelopt")


class Machine:
    """What a builder asks its surroundings; tests stand in for it."""

    def gpus(self) -> list[str]:
        """Product names; empty where there is no driver."""
        return visible_gpus()

    def versions(self) -> dict[str, str]:
        """Of what is installed, read without importing it: `import tensorrt_llm` needs a driver."""
        found = {"python": platform.python_version()}
        for name in DISTRIBUTIONS:
            try:
                found[name.replace("-", "_")] = metadata.version(name)
            except metadata.PackageNotFoundError:
                continue
        return found


def check_gpus(identity: EngineIdentity, *, seen: list[str]) -> str:
    """The product that is there. Raises GpuRuntimeMissing, EngineGpuMismatch or WorldSizeMismatch with both sides."""
    wanted = identity.accelerator
    if wanted is None or not seen:
        raise Failure(
            Reason.GPU_RUNTIME_MISSING,
            "no GPU is seen in this container: nvidia-smi is missing or lists none; the node needs NVIDIA's container runtime, and the "
            "placement an accelerator",
        )
    for name in seen:
        if not same_product(name, label=wanted.product):
            raise Failure(
                Reason.ENGINE_GPU_MISMATCH,
                f"the engine is wanted for {wanted.product}, the GPU here is {name}: check the label nvidia.com/gpu.product of the node",
            )
    if len(seen) < wanted.count:
        raise Failure(
            Reason.WORLD_SIZE_MISMATCH, f"the engine is wanted for {wanted.count} GPUs, {len(seen)} are here: raise accelerator.count"
        )
    return seen[0]


def check_versions(wanted: dict[str, str], *, found: dict[str, str], release: str) -> None:
    """The image must be of the release that the request names, for flags follow from that. Raises BackendVersionMismatch."""
    here, needed = found.get("tensorrt_llm"), wanted["tensorrt_llm"]
    if here is None:
        raise Failure(
            Reason.BACKEND_VERSION_MISMATCH, f"this image has no TensorRT-LLM, release {release} has {needed}: check toolchain.image"
        )
    if not _same(here, needed):
        raise Failure(
            Reason.BACKEND_VERSION_MISMATCH,
            f"this image has TensorRT-LLM {here}, release {release} has {needed}: set toolchain.release to the one of the image, or remove "
            "toolchain.image",
        )


def _same(one: str, other: str) -> bool:
    """NVIDIA's own builds carry a fourth number or a post release: what decides about flags is the release itself."""
    try:
        return Version.of(one)[:3] == Version.of(other)[:3]
    except ValueError:
        return one == other
