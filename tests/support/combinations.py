"""Combinations of model, release, GPU and flags that have to be refused, as data: by which policy, where and in which words.

Unit tests hold them against the policies and the command line, the admission test against a real API server.
"""

from dataclasses import dataclass
from typing import Any

from tests.support.objects import BUILD, VARIANT, service
from vertical_engines.contract.reasons import Reason

PLACEMENT = f"{VARIANT}.placements.0"
PLUGIN = f"{BUILD}.plugin_config"
Change = tuple[str, Any]


def on(product: str, release: str, *, backend: str = "TensorRTLLM", paged: bool = True, count: int = 1) -> list[Change]:
    """A placement on a GPU by a release."""
    return [
        ("spec.toolchain", {"backend": backend, "release": release}),
        (f"{PLACEMENT}.accelerator", {"product": product, "count": count}),
        (f"{PLUGIN}.paged_kv_cache", paged),
    ]


T4, A100, L4, H100, B200 = "Tesla-T4", "NVIDIA-A100-SXM4-80GB", "NVIDIA-L4", "NVIDIA-H100-80GB-HBM3", "NVIDIA-B200"
PREFIX: Change = (f"{VARIANT}.prefixCache", {"enabled": True})
PATH = "spec.variants[0]"
FLAGS = f"{PATH}.buildConfig.plugin_config"


@dataclass(frozen=True)
class Bad:
    """`rule` of the facts where it has one; `admission`: the API server's policy can say it too."""

    name: str
    changes: tuple[Change, ...]
    policy: str
    field: str
    reason: Reason
    fragments: tuple[str, ...]
    rule: str = ""
    admission: bool = True

    def content(self) -> dict[str, Any]:
        return service(*self.changes)


def bad(name: str, changes: list[Change], policy: str, **rest: Any) -> Bad:
    return Bad(name, tuple(changes), policy, **rest)


BAD: tuple[Bad, ...] = (
    bad(
        "a release that nobody knows",
        [("spec.toolchain.release", "1999.1")],
        "unknown_release",
        field="spec.toolchain.release",
        reason=Reason.UNKNOWN_TOOLCHAIN,
        fragments=("OpenVINO has no release 1999.1", "choose one of: 2026.4"),
    ),
    bad(
        "T4 on a release after 24.09",
        on(T4, "24.10", paged=False),
        "release_lacks_architecture",
        rule="R1",
        field="spec.toolchain.release",
        reason=Reason.GPU_ARCH_UNSUPPORTED,
        fragments=("TensorRTLLM 24.10 does not run on Tesla-T4", "no code for SM75", "24.04", "24.09"),
    ),
    bad(
        "T4 by the PyTorch flow",
        on(T4, "26.06", backend="TensorRTLLMPyTorch"),
        "release_lacks_architecture",
        rule="R1",
        field="spec.toolchain.release",
        reason=Reason.GPU_ARCH_UNSUPPORTED,
        fragments=("use backend TensorRTLLM",),
    ),
    bad(
        "a share of a T4 on a late release",
        on(f"{T4}-SHARED", "25.01"),
        "release_lacks_architecture",
        rule="R1",
        field="spec.toolchain.release",
        reason=Reason.GPU_ARCH_UNSUPPORTED,
        fragments=("Tesla-T4-SHARED",),
    ),
    bad(
        "B200 on an early release",
        on(B200, "24.12"),
        "release_lacks_architecture",
        rule="R1",
        field="spec.toolchain.release",
        reason=Reason.GPU_ARCH_UNSUPPORTED,
        fragments=("SM100", "25.01"),
    ),
    bad(
        "bfloat16 on T4",
        [*on(T4, "24.09", paged=False), ("spec.model.weights", "bfloat16")],
        "weights_lack_type",
        rule="R2",
        field="spec.model.weights",
        reason=Reason.DTYPE_UNSUPPORTED,
        fragments=("Tesla-T4 does not compute in bfloat16", "SM80", "float16"),
    ),
    bad(
        "fp8 on A100",
        [*on(A100, "26.06"), ("spec.model.weights", "fp8")],
        "weights_lack_type",
        rule="R2",
        field="spec.model.weights",
        reason=Reason.DTYPE_UNSUPPORTED,
        fragments=("SM89",),
    ),
    bad(
        "a plugin in bfloat16 on T4",
        [*on(T4, "24.09", paged=False), (f"{PLUGIN}.gemm_plugin", "bfloat16")],
        "plugin_lacks_type",
        rule="R2",
        field=f"{FLAGS}.gemm_plugin",
        reason=Reason.DTYPE_UNSUPPORTED,
        fragments=("gemm_plugin in bfloat16 on SM75",),
    ),
    bad(
        "nvfp4 on H100",
        [*on(H100, "26.06"), (f"{PLUGIN}.gemm_plugin", "nvfp4")],
        "plugin_lacks_type",
        rule="R2",
        field=f"{FLAGS}.gemm_plugin",
        reason=Reason.DTYPE_UNSUPPORTED,
        fragments=("SM100",),
    ),
    bad(
        "fp8 attention on A100",
        [*on(A100, "25.05"), (f"{PLUGIN}.use_fp8_context_fmha", True)],
        "fp8_attention_needs_fp8",
        rule="R2",
        field=f"{FLAGS}.use_fp8_context_fmha",
        reason=Reason.GPU_FEATURE_UNSUPPORTED,
        fragments=("SM89",),
    ),
    bad(
        "prefix cache on T4",
        [*on(T4, "24.09"), PREFIX],
        "gpu_lacks_fused_attention",
        rule="R3",
        field=f"{PATH}.prefixCache.enabled",
        reason=Reason.GPU_FEATURE_UNSUPPORTED,
        fragments=("prefixCache on Tesla-T4", "SM75", "remove prefixCache"),
    ),
    bad(
        "fused attention on T4",
        [*on(T4, "24.09"), (f"{PLUGIN}.context_fmha", "enable")],
        "gpu_lacks_fused_attention",
        rule="R3",
        field=f"{FLAGS}.context_fmha",
        reason=Reason.GPU_FEATURE_UNSUPPORTED,
        fragments=("remove context_fmha",),
    ),
    bad(
        "chunked context on T4",
        [*on(T4, "24.09"), (f"{PLUGIN}.use_paged_context_fmha", True)],
        "gpu_lacks_fused_attention",
        rule="R3",
        field=f"{FLAGS}.use_paged_context_fmha",
        reason=Reason.GPU_FEATURE_UNSUPPORTED,
        fragments=("SM75",),
    ),
    bad(
        "contiguous cache on 0.20",
        on(A100, "25.06", paged=False),
        "layout_cannot_be_served",
        rule="R4",
        field=f"{FLAGS}.paged_kv_cache",
        reason=Reason.KV_CACHE_BATCHING_CONFLICT,
        fragments=("set buildConfig.plugin_config.paged_kv_cache to true", "max_batch_size 1", "25.05"),
    ),
    bad(
        "static batching on 0.20",
        [*on(A100, "25.06"), (f"{VARIANT}.batching", "Static")],
        "static_batching_is_gone",
        rule="R4",
        field=f"{PATH}.batching",
        reason=Reason.BATCHING_UNSUPPORTED,
        fragments=("set batching to InFlight",),
    ),
    bad(
        "prefix cache with static batching",
        [(f"{PLUGIN}.paged_kv_cache", True), (f"{VARIANT}.batching", "Static"), PREFIX],
        "prefix_cache_needs_in_flight",
        rule="R5",
        field=f"{PATH}.prefixCache.enabled",
        reason=Reason.KV_CACHE_BATCHING_CONFLICT,
        fragments=("set batching to InFlight",),
    ),
    bad(
        "prefix cache without the attention that it needs",
        [*on(A100, "25.05"), PREFIX, (f"{PLUGIN}.use_paged_context_fmha", False)],
        "prefix_cache_lacks_attention",
        field=f"{FLAGS}.use_paged_context_fmha",
        reason=Reason.PREFIX_CACHE_UNAVAILABLE,
        fragments=("remove use_paged_context_fmha",),
    ),
    bad(
        "in flight with padding",
        [*on(A100, "25.05"), (f"{PLUGIN}.remove_input_padding", "disable")],
        "in_flight_lacks_plugin",
        field=f"{FLAGS}.remove_input_padding",
        reason=Reason.KV_CACHE_BATCHING_CONFLICT,
        fragments=("packed input",),
    ),
    bad(
        "a removed flag",
        [*on(A100, "24.08"), (f"{PLUGIN}.multi_block_mode", True)],
        "flag_is_unknown",
        field=f"{FLAGS}.multi_block_mode",
        reason=Reason.UNSUPPORTED_BUILD_FLAG,
        fragments=("TensorRTLLM 24.08 has no build flag multi_block_mode", "gone since TensorRT-LLM 0.12", "24.07"),
    ),
    bad(
        "a flag of later",
        [*on(A100, "24.06"), (f"{PLUGIN}.reduce_fusion", True)],
        "flag_is_unknown",
        field=f"{FLAGS}.reduce_fusion",
        reason=Reason.UNSUPPORTED_BUILD_FLAG,
        fragments=("came with TensorRT-LLM 0.11", "24.07"),
    ),
    bad(
        "a misspelt flag",
        [*on(A100, "24.09"), (f"{PLUGIN}.gem_plugin", "auto")],
        "flag_is_unknown",
        field=f"{FLAGS}.gem_plugin",
        reason=Reason.UNSUPPORTED_BUILD_FLAG,
        fragments=("no release has it", "write gemm_plugin"),
    ),
    bad(
        "no KV cache at all",
        [*on(A100, "25.05", paged=False), (f"{PLUGIN}.kv_cache_type", "disabled")],
        "kv_cache_type_contradicts",
        field=f"{FLAGS}.kv_cache_type",
        reason=Reason.BUILD_FLAG_CONFLICT,
        fragments=("kv_cache_type disabled with a contiguous KV cache", "remove kv_cache_type"),
    ),
    bad(
        "two layouts at once",
        [*on(A100, "24.09"), (f"{PLUGIN}.kv_cache_type", "CONTINUOUS")],
        "kv_cache_type_contradicts",
        field=f"{FLAGS}.kv_cache_type",
        reason=Reason.BUILD_FLAG_CONFLICT,
        fragments=("with a paged KV cache",),
    ),
    bad(
        "an option of the command line among the plugins",
        [*on(A100, "24.09"), (f"{PLUGIN}.max_batch_size", 4)],
        "flag_is_unknown",
        field=f"{FLAGS}.max_batch_size",
        reason=Reason.UNSUPPORTED_BUILD_FLAG,
        fragments=("a flag of trtllm-build, but no key of plugin_config",),
    ),
    bad(
        "a block size that is no power of two",
        [*on(A100, "24.09"), (f"{PLUGIN}.tokens_per_block", 48)],
        "flag_value_is_wrong",
        field=f"{FLAGS}.tokens_per_block",
        reason=Reason.UNSUPPORTED_BUILD_FLAG,
        fragments=("tokens_per_block is 48", "power of two"),
        admission=False,
    ),
    bad(
        "a type that plugins do not have",
        [*on(A100, "24.09"), (f"{PLUGIN}.gemm_plugin", "bf16")],
        "flag_value_is_wrong",
        field=f"{FLAGS}.gemm_plugin",
        reason=Reason.UNSUPPORTED_BUILD_FLAG,
        fragments=("one of auto",),
        admission=False,
    ),
    bad(
        "a prompt longer than a step",
        [*on(A100, "24.09"), (f"{BUILD}.max_input_len", 4096), (f"{BUILD}.max_num_tokens", 2048)],
        "prompt_exceeds_step",
        rule="R8",
        field=f"{PATH}.buildConfig.max_num_tokens",
        reason=Reason.PROMPT_TOO_LONG,
        fragments=("max_input_len 4096 with max_num_tokens 2048", "4096 or more"),
    ),
    bad(
        "profiles and an optimum",
        [*on(A100, "24.09"), (f"{PLUGIN}.multiple_profiles", True), (f"{BUILD}.opt_num_tokens", 64)],
        "profiles_exclude_optimum",
        field=f"{PATH}.buildConfig.opt_num_tokens",
        reason=Reason.BUILD_FLAG_CONFLICT,
        fragments=("remove one of the two",),
    ),
    bad(
        "weights that do not fit",
        [*on(T4, "24.09", paged=False), ("spec.model.weights", "float16"), ("spec.model.parameterCount", "13B")],
        "weights_exceed_memory",
        rule="R9",
        field=f"{PATH}.placements[0].accelerator",
        reason=Reason.GPU_OUT_OF_MEMORY,
        fragments=("13B weights in float16 are 24.2 GiB", "room for 13.5 GiB", "accelerator.count 2"),
    ),
    bad(
        "weights that do not fit into a part of a GPU",
        [*on(f"{A100}-MIG-1g.10gb", "25.05"), ("spec.model.weights", "int8"), ("spec.model.parameterCount", "13.5B")],
        "weights_exceed_memory",
        rule="R9",
        field=f"{PATH}.placements[0].accelerator",
        reason=Reason.GPU_OUT_OF_MEMORY,
        fragments=("13.5B weights in int8 are 12.6 GiB", "room for 8.8 GiB"),
    ),
    bad(
        "another split than GPUs",
        [*on(A100, "24.09", count=2), (f"{PLUGIN}.tp_size", 4)],
        "world_size_differs",
        rule="R10",
        field=f"{FLAGS}.tp_size",
        reason=Reason.WORLD_SIZE_MISMATCH,
        fragments=("tp_size 4 for accelerator.count 2", "remove tp_size; accelerator.count says it"),
    ),
    bad(
        "a split that says what the GPUs say",
        [*on(H100, "25.05", count=4), (f"{PLUGIN}.tp_size", 2), (f"{PLUGIN}.pp_size", 2)],
        "world_size_differs",
        rule="R10",
        field=f"{FLAGS}.tp_size",
        reason=Reason.UNSUPPORTED_BUILD_FLAG,
        fragments=("tp_size 2 and pp_size 2 for accelerator.count 4", "remove tp_size and pp_size"),
    ),
    bad(
        "int8 by the PyTorch flow",
        [*on(A100, "26.06", backend="TensorRTLLMPyTorch"), ("spec.model.weights", "int8")],
        "pytorch_lacks",
        field="spec.model.weights",
        reason=Reason.UNSUPPORTED_BUILD_FLAG,
        fragments=("use fp8, int4 or source",),
    ),
    bad(
        "an int8 cache with prefix reuse",
        [*on(A100, "25.05"), PREFIX, (f"{PLUGIN}.int8_kv_cache", True)],
        "int8_cache_meets_paged_attention",
        rule="R11",
        field=f"{FLAGS}.int8_kv_cache",
        reason=Reason.BUILD_FLAG_CONFLICT,
        fragments=("remove int8_kv_cache, or prefixCache",),
    ),
    bad(
        "a GPU backend on CPU",
        [("spec.toolchain", {"backend": "TensorRTLLM", "release": "24.09"})],
        "backend_needs_gpu",
        field=f"{PATH}.placements[0].accelerator",
        reason=Reason.INVALID_SPEC,
        fragments=("set accelerator.product",),
    ),
    bad(
        "a CPU backend on a GPU",
        [(f"{PLACEMENT}.accelerator", {"product": T4})],
        "backend_has_no_gpu",
        field=f"{PATH}.placements[0].accelerator",
        reason=Reason.GPU_ARCH_UNSUPPORTED,
        fragments=("runs on CPUs only",),
    ),
    bad(
        "beams on OpenVINO",
        [(f"{BUILD}.max_beam_width", 4)],
        "openvino_lacks",
        field=f"{PATH}.buildConfig.max_beam_width",
        reason=Reason.UNSUPPORTED_BUILD_FLAG,
        fragments=("no beam search",),
    ),
    bad(
        "fp8 on OpenVINO",
        [("spec.model.weights", "fp8")],
        "openvino_lacks",
        field="spec.model.weights",
        reason=Reason.UNSUPPORTED_BUILD_FLAG,
        fragments=("no fp8 weights",),
    ),
    bad(
        "bfloat16 on OpenVINO",
        [("spec.model.weights", "bfloat16")],
        "openvino_lacks",
        field="spec.model.weights",
        reason=Reason.UNSUPPORTED_BUILD_FLAG,
        fragments=("no bfloat16 weights", "use float16"),
    ),
    bad(
        "settings of OpenVINO on TensorRT-LLM",
        [*on(A100, "24.09"), (f"{VARIANT}.openvino", {"threads": 2})],
        "settings_of_openvino_elsewhere",
        field=f"{PATH}.openvino",
        reason=Reason.INVALID_SPEC,
        fragments=("the toolchain here is TensorRTLLM 24.09", "remove it"),
    ),
)
"""One row a refusal, at least one for each policy that an object alone can violate."""
