"""Policies on number types: weights and plugins in a type that the GPU computes with (R2)."""

from collections.abc import Iterator

from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.toolchains import Matrix
from vertical_operator.core.finding import Finding
from vertical_operator.core.identity import Target
from vertical_operator.core.policies.policy import finding, is_on, plugin_path

TYPES = ("bfloat16", "fp8", "nvfp4")
"""Types that some architectures lack."""


def _missing(target: Target, dtype: str) -> str | None:
    """The architecture, when it is known to lack a type."""
    if target.gpu is None:
        return None
    known = target.matrix.architecture(target.gpu.sm).dtypes
    return f"SM{target.gpu.sm}" if known and dtype not in known else None


def needed_architecture(matrix: Matrix, dtype: str) -> str:
    """The first architecture with a number type, in words."""
    first = min((sm for sm, found in matrix.file.architectures.items() if dtype in found.dtypes), default=0)
    return f"SM{first} and later" if first else "no GPU that is known"


def weights_lack_type(target: Target) -> Iterator[Finding]:
    """R2. `source` passes: a builder for such a GPU converts to float16."""
    weights, accelerator = target.identity.weights, target.identity.accelerator
    sm = _missing(target, weights) if weights in TYPES else None
    if sm is None or accelerator is None:
        return
    yield finding(
        target,
        "spec.model.weights",
        policy=weights_lack_type,
        reason=Reason.DTYPE_UNSUPPORTED,
        what=f"{accelerator.product} does not compute in {weights}",
        why=f"{weights} needs {needed_architecture(target.matrix, weights)}, this GPU is {sm}",
        instead=f"use weights {'float16' if weights == 'bfloat16' else 'int8 or float16'}, or another GPU",
    )


def plugin_lacks_type(target: Target) -> Iterator[Finding]:
    """R2 for the types that plugins are given."""
    for key, value in target.identity.build.plugin_config.items():
        sm = _missing(target, value) if isinstance(value, str) and value in TYPES else None
        if sm is None:
            continue
        yield finding(
            target,
            plugin_path(target, key),
            policy=plugin_lacks_type,
            reason=Reason.DTYPE_UNSUPPORTED,
            what=f"{key} in {value} on {sm}",
            why=f"{value} needs {needed_architecture(target.matrix, str(value))}",
            instead="use float16, auto or disable, or another GPU",
        )


def fp8_attention_needs_fp8(target: Target) -> Iterator[Finding]:
    """Fused attention in fp8 on a GPU without fp8."""
    sm = _missing(target, "fp8")
    if sm is None or not is_on(target.identity.build.plugin_config.get("use_fp8_context_fmha")):
        return
    yield finding(
        target,
        plugin_path(target, "use_fp8_context_fmha"),
        policy=fp8_attention_needs_fp8,
        reason=Reason.GPU_FEATURE_UNSUPPORTED,
        what=f"fused attention in fp8 on {sm}",
        why=f"fp8 needs {needed_architecture(target.matrix, 'fp8')}",
        instead="remove use_fp8_context_fmha, or use another GPU",
    )
