"""Policies on the backend TensorRTLLMPyTorch: what it does not have."""

from collections.abc import Iterator

from vertical_engines.contract.reasons import Reason
from vertical_operator.core.finding import Finding
from vertical_operator.core.identity import Target
from vertical_operator.core.policies.policy import finding


def pytorch_lacks(target: Target) -> Iterator[Finding]:
    """Weights in int8: its quantised kernels are for fp8 and int4."""
    if target.release.backend != "TensorRTLLMPyTorch" or target.identity.weights != "int8":
        return
    yield finding(
        target,
        "spec.model.weights",
        policy=pytorch_lacks,
        reason=Reason.UNSUPPORTED_BUILD_FLAG,
        what="backend TensorRTLLMPyTorch has no int8 weights",
        why="its quantised weights are fp8 and int4",
        instead="use fp8, int4 or source",
    )
