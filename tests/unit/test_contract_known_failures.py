"""The table of known failures against logs as builders and servers print them: reason, and both sides of a mismatch in the message."""

import pytest

from vertical_engines.contract.known_failures import KNOWN_FAILURES, explain
from vertical_engines.contract.reasons import Reason

ASSERTION = "[TensorRT-LLM][ERROR] Assertion failed: "
LOGS: dict[str, tuple[str, Reason, tuple[str, ...]]] = {
    "1 removed flag": (
        "usage: trtllm-build [-h] [--checkpoint_dir CHECKPOINT_DIR]\ntrtllm-build: error: unrecognized arguments: --max_output_len 32",
        Reason.UNSUPPORTED_BUILD_FLAG,
        ("--max_output_len 32", "0.12", "newer than"),
    ),
    "1 any flag": (
        "trtllm-build: error: unrecognized arguments: --monitor_memory",
        Reason.UNSUPPORTED_BUILD_FLAG,
        ("--monitor_memory", "plugin_config"),
    ),
    "2 too early": (
        "trtllm-build: error: unrecognized arguments: --kv_cache_type paged",
        Reason.UNSUPPORTED_BUILD_FLAG,
        ("0.13", "older than"),
    ),
    "2 value": (
        "trtllm-build: error: argument --gemm_plugin: invalid choice: 'float8' (choose from 'auto', 'float16')",
        Reason.UNSUPPORTED_BUILD_FLAG,
        ("--gemm_plugin", "float8"),
    ),
    "2 contradiction": (
        "AssertionError: --paged_kv_cache disable is incompatible with --kv_cache_type paged",
        Reason.BUILD_FLAG_CONFLICT,
        ("keep paged_kv_cache",),
    ),
    "3": (
        f"{ASSERTION}Unsupported architecture (/src/cpp/kernels/contextFusedMultiHeadAttention/fmhaRunner.cpp:90)",
        Reason.GPU_FEATURE_UNSUPPORTED,
        ("context_fmha: disable", "T4"),
    ),
    "4 no kernel": (
        "RuntimeError: CUDA error: no kernel image is available for execution on the device",
        Reason.GPU_ARCH_UNSUPPORTED,
        ("24.09",),
    ),
    "4 named architecture": (
        "NotImplementedError: gemm_swiglu_plugin is not supported on SM 100",
        Reason.GPU_ARCH_UNSUPPORTED,
        ("architecture: 100",),
    ),
    "5": ("RuntimeError: Unsupported data type, pre SM 80 GPUs do not support bfloat16", Reason.DTYPE_UNSUPPORTED, ("float16",)),
    "6": (
        "[TensorRT-LLM][ERROR] 6: The engine plan file is generated on an incompatible device, expecting compute 7.5 got compute 8.0, "
        "please rebuild.",
        Reason.ENGINE_GPU_MISMATCH,
        ("built for compute capability 8.0", "this pod has 7.5"),
    ),
    "7 library": (
        "[TensorRT-LLM][ERROR] 6: The engine plan file is not compatible with this version of TensorRT, expecting library version 9.2.0.5 "
        "got 9.3.0.1, please rebuild.",
        Reason.ENGINE_RUNTIME_MISMATCH,
        ("built with TensorRT 9.3.0.1", "image has 9.2.0.5"),
    ),
    "7 version tag": (
        "[E] [TRT] 1: Serialization (Serialization assertion stdVersionRead == kSERIALIZATION_VERSION failed.Version tag does not match. "
        "Note: Current Version: 236, Serialized Engine Version: 228)",
        Reason.ENGINE_RUNTIME_MISMATCH,
        ("format 228", "reads 236"),
    ),
    "7 no side told": ("[TRT] Version tag does not match.", Reason.ENGINE_RUNTIME_MISMATCH, ("not told",)),
    "8": (
        f"{ASSERTION}Expected length (1192) != real length (1184). This is often caused by using different TensorRT-LLM version to build "
        "engine and run engine.",
        Reason.ENGINE_RUNTIME_MISMATCH,
        ("1184 bytes", "expects 1192"),
    ),
    "9": (
        f"{ASSERTION}TrtGptModelInflightBatching requires GPT attention/Mamba Conv 1d plugin with packed input and paged KV cache. "
        "(/src/x.cpp:149)",
        Reason.KV_CACHE_BATCHING_CONFLICT,
        ("paged_kv_cache to true", "Static"),
    ),
    "10": (
        f"{ASSERTION}Static batching type is deprecated. Please use in-flight batching with "
        "CapacitySchedulerPolicy::kSTATIC_BATCH instead.",
        Reason.BATCHING_UNSUPPORTED,
        ("0.20", "InFlight"),
    ),
    "11": (
        f"{ASSERTION}When KV cache block reuse is set, model has to be built with paged context FMHA support",
        Reason.PREFIX_CACHE_UNAVAILABLE,
        ("use_paged_context_fmha",),
    ),
    "11 warning": (
        "[TensorRT-LLM][WARNING] Fixing executorConfig: KV cache reuse disabled because model was not built with paged "
        "context FMHA support",
        Reason.PREFIX_CACHE_UNAVAILABLE,
        ("use_paged_context_fmha",),
    ),
    "12": (
        f"{ASSERTION}maxTokensInPagedKvCache (2784) must be large enough to process at least 1 sequence to completion (i.e. must be larger "
        "than beam_width (1) * tokensPerBlock (128) * maxBlocksPerSeq (160))",
        Reason.KV_CACHE_TOO_SMALL,
        ("holds 2784 tokens", "160 blocks of 128"),
    ),
    "13 torch": (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 14.58 GiB of which "
        "1.21 GiB is free. Including non-PyTorch memory, this process has 13.30 GiB memory in use.",
        Reason.GPU_OUT_OF_MEMORY,
        ("2.00 GiB wanted", "1.21 GiB free of 14.58 GiB"),
    ),
    "13 runtime": (
        "[TensorRT-LLM][ERROR] CUDA runtime error in ::cudaMallocAsync(ptr, n, mMemPool->getPool(), mCudaStream->get()): out of memory",
        Reason.GPU_OUT_OF_MEMORY,
        ("max_batch_size",),
    ),
    "15": ("Prompt length (900) exceeds maximum input length (512).", Reason.PROMPT_TOO_LONG, ("900 tokens", "takes 512")),
    "16": (
        "Input length (500) + max new tokens (100) must be less than max sequence length (544).",
        Reason.REQUEST_TOO_LONG,
        ("500", "100", "544"),
    ),
    "17": (f"{ASSERTION}mpiSize == tp * pp (/src/worldConfig.cpp:80)", Reason.WORLD_SIZE_MISMATCH, ("accelerator.count",)),
    "17 leader": (
        f"{ASSERTION}With communicationMode kLEADER, MPI worldSize is expected to be equal to tp*pp when participantIds are not specified",
        Reason.WORLD_SIZE_MISMATCH,
        ("accelerator.count",),
    ),
    "18": (
        "Error parsing text-format inference.ModelConfig: 29:17: Expected integer, got: $",
        Reason.MODEL_CONFIG_INCOMPLETE,
        ("placeholder ${",),
    ),
    "19": ("Streaming is only supported if model is deployed using decoupled mode.", Reason.STREAMING_CONFIG_CONFLICT, ("streaming",)),
    "20": (
        "Response Cache does not currently support model 'tensorrt_llm' with 'decoupled' transaction policy. "
        "Please disable the response cache.",
        Reason.RESPONSE_CACHE_CONFLICT,
        ("model tensorrt_llm", "decoupled"),
    ),
    "21": ("[ERROR] Failed to find Max KV cache blocks in metrics.", Reason.METRICS_DEGRADED, ("contiguous",)),
    "22": ("Both encoder and decoder model paths are empty", Reason.ENGINE_MISSING, ("store",)),
    "23 class": (
        "ValueError: Tokenizer class PoiTokenizer does not exist or is not currently imported.",
        Reason.TOKENIZER_UNAVAILABLE,
        ("PoiTokenizer",),
    ),
    "23 path": (
        "OSError: Can't load tokenizer for '/model'. If you were trying to load it from a hub",
        Reason.TOKENIZER_UNAVAILABLE,
        ("/model",),
    ),
    "23 code": (
        "Please pass the argument `trust_remote_code=True` to allow custom code to be run.",
        Reason.TOKENIZER_UNAVAILABLE,
        ("code of its own",),
    ),
    "24": (
        "Failed to increase the shared memory pool size for key 'triton_python_backend_shm_region_1'",
        Reason.SHARED_MEMORY_TOO_SMALL,
        ("/dev/shm",),
    ),
    "24 stub": (
        """E1130 1 model_lifecycle.cc:642] "failed to load 'echo' version 1: Internal: Stub process 'echo_0_0' is not healthy.\"""",
        Reason.PIPELINE_INVALID,
        ("echo_0_0", "killed for want of memory"),
    ),
    "25": (
        "[json.exception.out_of_range.403] key 'kv_cache_type' not found",
        Reason.ENGINE_RUNTIME_MISMATCH,
        ("no kv_cache_type",),
    ),
    "25b symbol": (
        "/opt/tritonserver/backends/tensorrtllm/libtriton_tensorrtllm.so: undefined symbol: _ZN12tensorrt_llm8executor8ExecutorC1E",
        Reason.BACKEND_VERSION_MISMATCH,
        ("libtriton_tensorrtllm.so", "_ZN12tensorrt_llm8executor8ExecutorC1E"),
    ),
    "25b backend": (
        "unable to find backend library for backend '${triton_backend}', try specifying runtime on the model configuration.",
        Reason.BACKEND_VERSION_MISMATCH,
        ("${triton_backend}",),
    ),
    "25b script": (
        "python3: can't open file '/app/examples/llama/convert_checkpoint.py': [Errno 2] No such file or directory",
        Reason.BACKEND_VERSION_MISMATCH,
        ("/app/examples/llama/convert_checkpoint.py", "24.12"),
    ),
    "25b module": ("ModuleNotFoundError: No module named 'modelopt.torch'", Reason.BACKEND_VERSION_MISMATCH, ("modelopt.torch",)),
    "25c driver": (
        "RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver",
        Reason.GPU_RUNTIME_MISSING,
        ("11040", "update the driver"),
    ),
    "25c": (
        "ImportError: libnvidia-ml.so.1: cannot open shared object file: No such file or directory",
        Reason.GPU_RUNTIME_MISSING,
        ("libnvidia-ml.so.1",),
    ),
    "26": (f"{ASSERTION}mNextBlocks.empty() (/src/kvCacheManager.cpp:212)", Reason.RUNTIME_CRASH, ("prefixCache",)),
    "27": (f"{ASSERTION}Do not set crossKvCacheFraction for decoder-only model", Reason.MODEL_CONFIG_INVALID, ("cross_kv_cache_fraction",)),
    "28": (
        "failed to load 'ensemble' version 1: Invalid argument: ensemble 'ensemble' depends on 'tensorrt_llm' which has no loaded version.",
        Reason.DEPENDENCY_NOT_LOADED,
        ("model tensorrt_llm",),
    ),
    "30": (
        "RuntimeError: multiple_profiles is enabled, while opt_num_tokens is set. They are not supposed to be "
        "working in the same time for now.",
        Reason.BUILD_FLAG_CONFLICT,
        ("opt_num_tokens",),
    ),
}
BY_OTHER_MEANS = {"14": "exit code 137, in the builder's translation", "29": "no words at all: the guard's canary"}


@pytest.mark.parametrize(("log", "reason", "told"), LOGS.values(), ids=LOGS.keys())
def test_known_words_become_a_reason_with_what_to_change(log: str, reason: Reason, told: tuple[str, ...]) -> None:
    found = explain(["I1129 23:00:00.000000 1 server.cc:1] something before", *log.splitlines(), "what came after"])
    assert found is not None
    assert found[0] is reason
    assert [part for part in told if part not in found[1]] == []
    assert "{" not in found[1].replace("${", "")


def test_every_row_of_the_catalogue_is_translated() -> None:
    rows = {known.row for known in KNOWN_FAILURES} | set(BY_OTHER_MEANS)
    assert rows == {*map(str, range(1, 31)), "25b", "25c"}
    assert {name.split()[0] for name in LOGS} == {known.row for known in KNOWN_FAILURES}


def test_a_cause_is_told_before_what_followed_from_it() -> None:
    log = [
        "Fixing executorConfig: KV cache reuse disabled because model was not built with paged context FMHA support",
        "expecting compute 7.5 got compute 8.0, please rebuild.: incompatible device, expecting compute 7.5 got compute 8.0",
        "Failed to deserialize cuda engine.",
        "ensemble 'e' depends on 'tensorrt_llm' which has no loaded version",
    ]
    assert (explain(log) or ("",))[0] is Reason.ENGINE_GPU_MISMATCH
    assert (explain(log[2:]) or ("",))[0] is Reason.ENGINE_RUNTIME_MISMATCH


def test_what_spoiled_one_request_is_not_why_a_server_ended() -> None:
    log = ["Prompt length (900) exceeds maximum input length (512).", "Assertion failed: mNextBlocks.empty()"]
    assert (explain(log, ended=True) or ("",))[0] is Reason.RUNTIME_CRASH
    assert explain(log[:1], ended=True) is None
    assert (explain(log[:1]) or ("",))[0] is Reason.PROMPT_TOO_LONG


def test_words_that_are_not_known_are_left_to_the_caller() -> None:
    assert explain(["RuntimeError: something new"]) is None
    assert explain([]) is None
