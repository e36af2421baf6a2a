"""Policies on toolchains: releases that can't build engines any more (R7)."""

from collections.abc import Iterator

from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.versions import Version
from vertical_operator.core.finding import Finding
from vertical_operator.core.identity import Target
from vertical_operator.core.policies.policy import finding

ENGINES_END = Version.of("1.3.0rc0")
"""Of its release candidates the first still have `trtllm-build`, the later ones do not: none counts as a release."""


def engine_path_is_gone(target: Target) -> Iterator[Finding]:
    """R7. Only a row that the installation has added can be so new."""
    version = target.release.tensorrt_llm
    if target.release.backend != "TensorRTLLM" or version is None or version < ENGINES_END:
        return
    able = [row for row in target.matrix.releases if row.backend == "TensorRTLLM" and (row.tensorrt_llm or ENGINES_END) < ENGINES_END]
    last = able[-1].release if able else "an older one"
    yield finding(
        target,
        f"{target.toolchain_path}.backend",
        policy=engine_path_is_gone,
        reason=Reason.UNKNOWN_TOOLCHAIN,
        what=f"{target.row} can't build engines",
        why=f"TensorRT-LLM {target.release.versions['tensorrt_llm']} has no trtllm-build",
        instead=f"use backend TensorRTLLMPyTorch, or release {last}",
    )
