"""Policies on the KV cache: layouts that a release can serve, and what prefix reuse needs (R3, R4, R5, R11)."""

from collections.abc import Iterator

from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.toolchains import Matrix
from vertical_operator.core.finding import Finding
from vertical_operator.core.identity import Target
from vertical_operator.core.names import listed
from vertical_operator.core.policies.policy import finding, is_off, is_on, plugin_path

ENGINE_BACKEND = "TensorRTLLM"
PAGED = "set buildConfig.plugin_config.paged_kv_cache to true (max_batch_size 1 gives one request at a time)"
IN_FLIGHT = "set batching to InFlight (max_batch_size 1 gives one request at a time)"
KV_CACHE_TYPE = "kv_cache_type"
"""An option of trtllm-build that people put among the plugins: taken when it says what paged_kv_cache says."""
LAYOUTS = {"paged": "paged", "contiguous": "continuous"}
FUSED = ("context_fmha", "use_paged_context_fmha", "use_fp8_context_fmha")


def _reuses_prefixes(target: Target) -> bool:
    cache = target.variant.prefix_cache
    return cache is not None and cache.enabled


def static_releases(matrix: Matrix, backend: str) -> str:
    """The end of a sentence: releases with static batching, where there are any."""
    able = [row.release for row in matrix.releases if row.backend == backend and row.serves("Static", "contiguous")]
    return f", or use one of the releases that can: {listed(able)}" if able else ""


def layout_cannot_be_served(target: Target) -> Iterator[Finding]:
    """R4. A contiguous KV cache needs static batching, which ends with TensorRT-LLM 0.19."""
    layout = target.identity.build.kv_layout
    if layout == "paged" or target.release.serves("Static", layout):
        return
    yield finding(
        target,
        plugin_path(target, "paged_kv_cache"),
        policy=layout_cannot_be_served,
        reason=Reason.KV_CACHE_BATCHING_CONFLICT,
        what=f"{target.row} can't serve a contiguous KV cache",
        why="it has in-flight batching only, which needs a paged one",
        instead=PAGED + static_releases(target.matrix, target.release.backend),
    )


def kv_cache_type_contradicts(target: Target) -> Iterator[Finding]:
    """`disabled` is no contiguous cache but none at all, with which nothing can be generated."""
    build = target.identity.build
    given = build.plugin_config.get(KV_CACHE_TYPE)
    if target.release.backend != ENGINE_BACKEND or given is None or str(given).lower() == LAYOUTS[build.kv_layout]:
        return
    yield finding(
        target,
        plugin_path(target, KV_CACHE_TYPE),
        policy=kv_cache_type_contradicts,
        reason=Reason.BUILD_FLAG_CONFLICT,
        what=f"kv_cache_type {given} with a {build.kv_layout} KV cache",
        why="paged_kv_cache decides the layout, and disabled is no KV cache at all",
        instead="remove kv_cache_type, and set paged_kv_cache to true (paged) or false (contiguous)",
    )


def static_batching_is_gone(target: Target) -> Iterator[Finding]:
    """Static batching of a paged cache, where the release has none of any layout."""
    if (
        target.identity.build.kv_layout != "paged"
        or target.variant.effective_batching != "Static"
        or target.release.serves("Static", "paged")
    ):
        return
    yield finding(
        target,
        f"{target.variant_path}.batching",
        policy=static_batching_is_gone,
        reason=Reason.BATCHING_UNSUPPORTED,
        what=f"{target.row} has no static batching",
        why="it batches in flight only",
        instead=IN_FLIGHT + static_releases(target.matrix, target.release.backend),
    )


def prefix_cache_needs_in_flight(target: Target) -> Iterator[Finding]:
    """R5, the part that the schema does not say: blocks are shared by in-flight batching."""
    if not _reuses_prefixes(target) or target.variant.effective_batching == "InFlight":
        return
    yield finding(
        target,
        f"{target.variant_path}.prefixCache.enabled",
        policy=prefix_cache_needs_in_flight,
        reason=Reason.KV_CACHE_BATCHING_CONFLICT,
        what="prefixCache with batching Static",
        why="requests share blocks under in-flight batching only",
        instead="remove prefixCache, or set batching to InFlight",
    )


def gpu_lacks_fused_attention(target: Target) -> Iterator[Finding]:
    """R3. Without fused attention for prompts there is no prefix cache and no chunked context."""
    if target.gpu is None or target.release.backend != ENGINE_BACKEND or target.matrix.architecture(target.gpu.sm).context_fmha:
        return
    flags = target.identity.build.plugin_config
    wanted = {
        plugin_path(target, key): key for key in ("context_fmha", "use_paged_context_fmha", "use_fp8_context_fmha") if is_on(flags.get(key))
    }
    if _reuses_prefixes(target):
        wanted[f"{target.variant_path}.prefixCache.enabled"] = "prefixCache"
    for field, name in wanted.items():
        yield finding(
            target,
            field,
            policy=gpu_lacks_fused_attention,
            reason=Reason.GPU_FEATURE_UNSUPPORTED,
            what=f"{name} on {target.identity.accelerator.product if target.identity.accelerator else ''}",
            why=f"SM{target.gpu.sm} has no fused attention for prompts, which it needs",
            instead=f"remove {name}, or use another GPU",
        )


def prefix_cache_lacks_attention(target: Target) -> Iterator[Finding]:
    """Prefix reuse with one of the flags switched off that it is built from: the runtime would switch it off without a word."""
    if not _reuses_prefixes(target) or target.release.backend != ENGINE_BACKEND:
        return
    flags = target.identity.build.plugin_config
    for key in ("context_fmha", "use_paged_context_fmha"):
        if is_off(flags.get(key)):
            yield finding(
                target,
                plugin_path(target, key),
                policy=prefix_cache_lacks_attention,
                reason=Reason.PREFIX_CACHE_UNAVAILABLE,
                what=f"prefixCache with {key} switched off",
                why="the engine can share blocks only when it is built with it",
                instead=f"remove {key}, or prefixCache",
            )


def in_flight_lacks_plugin(target: Target) -> Iterator[Finding]:
    """In-flight batching of an engine without attention plugin or packed input is refused by the server."""
    if target.release.backend != ENGINE_BACKEND or target.variant.effective_batching != "InFlight":
        return
    flags = target.identity.build.plugin_config
    for key in ("remove_input_padding", "gpt_attention_plugin"):
        if is_off(flags.get(key)):
            yield finding(
                target,
                plugin_path(target, key),
                policy=in_flight_lacks_plugin,
                reason=Reason.KV_CACHE_BATCHING_CONFLICT,
                what=f"batching InFlight with {key} switched off",
                why="the server takes only engines with packed input and the attention plugin",
                instead=f"remove {key}, or set batching to Static with paged_kv_cache false",
            )


def int8_cache_meets_paged_attention(target: Target) -> Iterator[Finding]:
    """R11. There is no kernel for it."""
    flags = target.identity.build.plugin_config
    if target.release.backend != ENGINE_BACKEND or not is_on(flags.get("int8_kv_cache")):
        return
    if not (_reuses_prefixes(target) or is_on(flags.get("use_paged_context_fmha"))):
        return
    rival = "prefixCache" if _reuses_prefixes(target) else "use_paged_context_fmha"
    yield finding(
        target,
        plugin_path(target, "int8_kv_cache"),
        policy=int8_cache_meets_paged_attention,
        reason=Reason.BUILD_FLAG_CONFLICT,
        what=f"int8_kv_cache with {rival}",
        why="fused attention over a paged KV cache has no kernel for int8",
        instead=f"remove int8_kv_cache, or {rival}",
    )
