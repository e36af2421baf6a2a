"""Policies on memory: weights that can't fit into the GPU (R9)."""

from collections.abc import Iterator

from vertical_engines.contract.reasons import Reason
from vertical_operator.api.v1alpha1.scalars import parameter_count
from vertical_operator.core.finding import Finding
from vertical_operator.core.identity import Target
from vertical_operator.core.policies.policy import finding

USABLE = 0.9
"""Part of a GPU's memory that weights and all the rest may take."""
BYTES = {"float16": 2.0, "bfloat16": 2.0, "fp8": 1.0, "int8": 1.0, "int4": 0.5, "source": 0.5}
"""Of one weight. What a source holds is not known: the least it can be."""


def weights_exceed_memory(target: Target) -> Iterator[Finding]:
    """R9, from below: weights alone, and only when the object says how many there are.

    The KV cache and the workspace depend on the model's shape, which the object does not say: what passes here may still not fit.
    """
    declared, accelerator = target.service.spec.model.parameter_count, target.identity.accelerator
    if declared is None or accelerator is None or target.gpu is None:
        return
    needed = parameter_count(declared) * BYTES[target.identity.weights]
    room = USABLE * target.gpu.memory * 2**20 * accelerator.count
    if needed <= room:
        return
    gpus = -(-needed // (USABLE * target.gpu.memory * 2**20))
    yield finding(
        target,
        f"{target.path}.accelerator",
        policy=weights_exceed_memory,
        reason=Reason.GPU_OUT_OF_MEMORY,
        what=f"{declared} weights in {target.identity.weights} are {needed / 2**30:.1f} GiB or more",
        why=f"{accelerator.count} × {accelerator.product} has room for {room / 2**30:.1f} GiB",
        instead=f"use weights with fewer bits, accelerator.count {gpus:.0f} or more, or a GPU with more memory",
    )
