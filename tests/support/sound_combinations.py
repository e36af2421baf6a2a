"""Combinations that are known to work, or that nothing is known against, as data: a refusal of one is a fault."""

from tests.support.combinations import A100, B200, H100, L4, PLUGIN, PREFIX, T4, Change, on
from tests.support.objects import BUILD, VARIANT

LONG: list[Change] = [(f"{BUILD}.max_input_len", 4096), (f"{BUILD}.max_num_tokens", 2048)]

COPIED = {
    "dtype": "float16",
    "bert_attention_plugin": "auto",
    "gpt_attention_plugin": "float16",
    "gemm_plugin": "float16",
    "gemm_swiglu_plugin": None,
    "smooth_quant_gemm_plugin": None,
    "quantize_tensor_plugin": False,
    "moe_plugin": "auto",
    "paged_kv_cache": True,
    "remove_input_padding": True,
    "tokens_per_block": 64,
    "use_fused_mlp": True,
    "nccl_plugin": None,
}
"""From the configuration of an engine that was built before."""

GOOD: tuple[tuple[str, list[Change]], ...] = (
    ("a model in a hub", [("spec.model.source", {"huggingFace": {"repository": "org/model", "revision": "main"}})]),
    ("a model in an object store", [("spec.model.source", {"objectStore": {"uri": "s3://models/small"}})]),
    ("the smallest one on CPU", []),
    ("in flight on CPU with prefixes", [(f"{PLUGIN}.paged_kv_cache", True), PREFIX]),
    *((f"T4 contiguous on {release}", on(T4, release, paged=False)) for release in ("24.04", "24.05", "24.06", "24.07", "24.08", "24.09")),
    ("T4 in flight", on(T4, "24.09")),
    ("T4 with fused attention off", [*on(T4, "24.09"), (f"{PLUGIN}.context_fmha", False)]),
    ("T4 with a prompt longer than a step", [*on(T4, "24.09"), *LONG]),
    ("T4 with weights of the source", [*on(T4, "24.09"), ("spec.model.weights", "source")]),
    ("T4 with int4", [*on(T4, "24.09"), ("spec.model.weights", "int4")]),
    ("V100", on("Tesla-V100-SXM2-32GB", "24.09", paged=False)),
    ("A100 contiguous on the last release that can", on(A100, "25.05", paged=False)),
    ("A100 with prefixes on the first release", [*on(A100, "24.04"), PREFIX]),
    ("A100 on the last release with engines", [*on(A100, "26.06"), PREFIX]),
    ("A100 one at a time where contiguous is gone", [*on(A100, "26.06"), (f"{BUILD}.max_batch_size", 1)]),
    ("A100 in bfloat16", [*on(A100, "25.05"), ("spec.model.weights", "bfloat16"), (f"{PLUGIN}.gemm_plugin", "bfloat16")]),
    ("a part of an A100", on(f"{A100}-MIG-2g.20gb", "25.05")),
    ("L4 in fp8", [*on(L4, "25.05"), ("spec.model.weights", "fp8"), (f"{PLUGIN}.use_fp8_context_fmha", "enable")]),
    ("H100 by the PyTorch flow, after the engines", [*on(H100, "26.07", backend="TensorRTLLMPyTorch"), PREFIX]),
    ("B200 in nvfp4", [*on(B200, "25.09"), (f"{PLUGIN}.gemm_plugin", "nvfp4")]),
    ("two GPUs", on(H100, "25.05", count=2)),
    ("a GPU that nobody knows", on("NVIDIA-X9000", "25.05")),
    ("a plugin_config copied from an engine", [*on(A100, "25.05"), *((f"{PLUGIN}.{key}", value) for key, value in COPIED.items())]),
    ("switches as words", [*on(A100, "24.06"), (f"{PLUGIN}.multi_block_mode", "enable"), (f"{PLUGIN}.enable_xqa", "disable")]),
    ("a long prompt where the build raises the step", [*on(A100, "24.09"), (f"{BUILD}.max_input_len", 16000)]),
    ("a long prompt in a long step", [*on(A100, "26.06"), (f"{BUILD}.max_input_len", 16000), (f"{BUILD}.max_num_tokens", 16000)]),
    ("a long prompt without fused attention", [*on(A100, "24.09"), *LONG, (f"{PLUGIN}.context_fmha", False)]),
    ("a layout said twice", [*on(A100, "24.09"), (f"{PLUGIN}.kv_cache_type", "PAGED")]),
    ("plugins switched by yes and no", [*on(A100, "25.05"), (f"{PLUGIN}.gemm_plugin", True), (f"{PLUGIN}.moe_plugin", False)]),
    ("weights that fit", [*on(T4, "24.09"), ("spec.model.weights", "float16"), ("spec.model.parameterCount", "1.3B")]),
    ("weights that fit into two", [*on(A100, "25.05", count=2), ("spec.model.weights", "float16"), ("spec.model.parameterCount", "70B")]),
    ("weights of a source of any precision", [*on(T4, "24.09"), ("spec.model.parameterCount", "13B")]),
    ("an int8 cache without prefix reuse", [*on(A100, "24.09"), (f"{PLUGIN}.int8_kv_cache", True)]),
    ("the response cache behind the entry model", [(f"{VARIANT}.responseCache", {"size": "64Mi", "models": ["generator"]})]),
    ("beams on a GPU", [*on(A100, "25.05"), (f"{BUILD}.max_beam_width", 4)]),
    ("keys that OpenVINO passes over", [(f"{PLUGIN}.gemm_plugin", "float16"), (f"{PLUGIN}.tokens_per_block", 64)]),
)
"""Combinations that are known to work, or that nothing is known against: a refusal of one is a fault."""
