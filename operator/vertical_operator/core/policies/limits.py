"""Policies on limits: token counts that fit each other, and flags that exclude each other (R8)."""

from collections.abc import Iterator

from vertical_engines.contract.reasons import Reason
from vertical_operator.core.finding import Finding
from vertical_operator.core.identity import Target
from vertical_operator.core.policies.policy import finding, is_off, is_on


def prompt_exceeds_step(target: Target) -> Iterator[Finding]:
    """R8. A prompt longer than one step, where it can't be taken in pieces. (That prompt and answer fit max_seq_len is schema.)

    Pieces (chunked context) need a paged KV cache and paged context attention. Where fused attention is off, the build raises
    max_num_tokens by itself.
    """
    build = target.identity.build
    if target.release.backend != "TensorRTLLM" or _comes_in_pieces(target) or _raised_by_build(target):
        return
    default = target.release.flags["max_num_tokens"].default if target.release.knows("max_num_tokens") else None
    step = build.max_num_tokens if build.max_num_tokens is not None else default
    if not isinstance(step, int) or build.max_input_len <= step:
        return
    yield finding(
        target,
        f"{target.variant_path}.buildConfig.max_num_tokens",
        policy=prompt_exceeds_step,
        reason=Reason.PROMPT_TOO_LONG,
        what=f"max_input_len {build.max_input_len} with max_num_tokens {step}{'' if build.max_num_tokens else ' (the default)'}",
        why="a prompt has to fit into one step when it is not taken in pieces",
        instead=f"set max_num_tokens to {build.max_input_len} or more, or lower max_input_len",
    )


def _comes_in_pieces(target: Target) -> bool:
    build, cache = target.identity.build, target.variant.prefix_cache
    flag = target.release.flags.get("use_paged_context_fmha")
    given = build.plugin_config.get("use_paged_context_fmha", flag.default if flag else None)
    return build.kv_layout == "paged" and (is_on(given) or (cache is not None and cache.enabled))


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
