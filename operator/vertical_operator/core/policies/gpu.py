"""Policies on GPUs: a release and a GPU that fit together, and as many GPUs as the engine is split over (R1, R10)."""

from collections.abc import Iterator

from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.toolchains import Matrix
from vertical_operator.core.finding import Finding
from vertical_operator.core.identity import Target
from vertical_operator.core.names import listed
from vertical_operator.core.policies.policy import finding, plugin_path

PARALLELISM = ("tp_size", "pp_size")


def backend_needs_gpu(target: Target) -> Iterator[Finding]:
    """A backend that has code for GPUs only, on a placement without one."""
    if target.identity.accelerator or target.release.cpu_only:
        return
    yield finding(
        target,
        f"{target.path}.accelerator",
        policy=backend_needs_gpu,
        reason=Reason.INVALID_SPEC,
        what="no GPU is asked for",
        why=f"backend {target.release.backend} runs on GPUs only",
        instead="set accelerator.product, or use backend OpenVINO for CPUs",
    )


def backend_has_no_gpu(target: Target) -> Iterator[Finding]:
    """A GPU for a backend that runs on CPUs."""
    accelerator = target.identity.accelerator
    if accelerator is None or not target.release.cpu_only:
        return
    yield finding(
        target,
        f"{target.path}.accelerator",
        policy=backend_has_no_gpu,
        reason=Reason.GPU_ARCH_UNSUPPORTED,
        what=f"{target.row} does not run on {accelerator.product}",
        why=f"backend {target.release.backend} runs on CPUs only",
        instead="remove accelerator, or choose another backend",
    )


def release_lacks_architecture(target: Target) -> Iterator[Finding]:
    """R1. A product that the matrix does not know is let through: what it can do is not known either."""
    accelerator, known = target.identity.accelerator, target.gpu
    if accelerator is None or known is None or target.release.cpu_only or target.release.runs_on(known.sm):
        return
    yield finding(
        target,
        f"{target.toolchain_path}.release",
        policy=release_lacks_architecture,
        reason=Reason.GPU_ARCH_UNSUPPORTED,
        what=f"{target.row} does not run on {accelerator.product}",
        why=f"it has no code for SM{known.sm}",
        instead=instead_of_release(target.matrix, target.release.backend, sm=known.sm),
    )


def instead_of_release(matrix: Matrix, backend: str, *, sm: int) -> str:
    """What to use on an architecture that a release lacks."""
    rows = [row for row in matrix.releases if row.runs_on(sm)]
    same = [row.release for row in rows if row.backend == backend]
    other = sorted({row.backend for row in rows} - {backend})
    choices = [f"use one of its releases that do: {listed(same)}"] if same else []
    choices += [f"use backend {' or '.join(other)}"] if other and not same else []
    return ", or ".join([*choices, "another GPU"] if choices else ["choose another GPU"])


def world_size_differs(target: Target) -> Iterator[Finding]:
    """R10. An engine is split over the GPUs of one pod; a split of its own can only contradict that, or say it twice."""
    given = {key: value for key in PARALLELISM if (value := target.identity.build.plugin_config.get(key)) is not None}
    accelerator = target.identity.accelerator
    if not given or accelerator is None or target.release.backend != "TensorRTLLM":
        return
    parts = 1
    for value in given.values():
        parts *= value if isinstance(value, int) else 0
    yield finding(
        target,
        plugin_path(target, next(iter(given))),
        policy=world_size_differs,
        reason=Reason.UNSUPPORTED_BUILD_FLAG if parts == accelerator.count else Reason.WORLD_SIZE_MISMATCH,
        what=f"{' and '.join(f'{key} {value}' for key, value in given.items())} for accelerator.count {accelerator.count}",
        why="the engine is split over exactly the GPUs of its pod",
        instead=f"remove {' and '.join(given)}; accelerator.count says it",
    )
