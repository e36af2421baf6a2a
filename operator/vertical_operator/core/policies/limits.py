"""Policies on limits: token counts that fit each other, and flags that exclude each other (R8)."""

from collections.abc import Iterator

from vertical_engines.contract.reasons import Reason
from vertical_operator.core.finding import Finding
from vertical_operator.core.identity import Target
from vertical_operator.core.policies.policy import finding, is_off, is_on


def prompt_exceeds_step(target: Target) -> Iterator[Finding]:
    """R8. A prompt longer than one step: serving takes prompts whole. (That prompt and answer fit max_seq_len is schema.)

    Left out, the build raises max_num_tokens to the longest prompt; trtllm-build does so itself where fused attention is off.
    """
    build = target.identity.build
    if target.release.backend != "TensorRTLLM" or build.max_num_tokens is None or _raised_by_build(target):
        return
    if build.max_input_len <= build.max_num_tokens:
        return
    yield finding(
        target,
        f"{target.variant_path}.buildConfig.max_num_tokens",
        policy=prompt_exceeds_step,
        reason=Reason.PROMPT_TOO_LONG,
        what=f"max_input_len {build.max_input_len} with max_num_tokens {build.max_num_tokens}",
        why="a prompt has to fit into one step",
        instead=f"set max_num_tokens to {build.max_input_len} or more, or remove it, or lower max_input_len",
    )


def _raised_by_build(target: Target) -> bool:
    flags = target.identity.build.plugin_config
    unfused = target.gpu is not None and not target.matrix.architecture(target.gpu.sm).context_fmha
    return unfused or is_off(flags.get("context_fmha")) or is_off(flags.get("remove_input_padding"))


def profiles_exclude_optimum(target: Target) -> Iterator[Finding]:
    """Both say what kernels are tuned for; the build ends with an error."""
    build = target.identity.build
    if target.release.backend != "TensorRTLLM" or build.opt_num_tokens is None or not is_on(build.plugin_config.get("multiple_profiles")):
        return
    yield finding(
        target,
        f"{target.variant_path}.buildConfig.opt_num_tokens",
        policy=profiles_exclude_optimum,
        reason=Reason.BUILD_FLAG_CONFLICT,
        what="opt_num_tokens with multiple_profiles",
        why="each says what kernels are tuned for",
        instead="remove one of the two",
    )
