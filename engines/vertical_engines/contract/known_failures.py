"""Failures that builds and servers are known to print: the words of the log, the reason they stand for, and what to change.

Builders translate with it what their processes leave behind, and the operator what a crashed server leaves behind. `row` is the number
in the failure catalogue that the table was made from. Facts are named in brackets in `message`: they are groups of `words`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from vertical_engines.contract.reasons import Reason


@dataclass(frozen=True)
class KnownFailure:
    """`words` is a regular expression that is searched in the last lines of a log, joined by newlines."""

    row: str
    reason: Reason
    words: str
    message: str
    ends: bool = True
    """Whether it ends a process. What spoils one request, or is a warning, is no cause of an end."""

    def explain(self, text: str) -> str | None:
        """The message with both sides of a mismatch filled in; None when the words are not there."""
        found = re.search(self.words, text)
        if found is None:
            return None
        return self.message.format_map({name: (value or "not told").strip() for name, value in found.groupdict().items()})


NO_PAGED_CONTEXT = (
    "prefixCache was asked for, and the engine was built without paged context attention: remove "
    "plugin_config.use_paged_context_fmha: false, so that it is built with it"
)

BUILDING = (
    KnownFailure(
        "1",
        Reason.UNSUPPORTED_BUILD_FLAG,
        r"unrecognized arguments: (?P<flags>.*--max_output_len\b.*)",
        "trtllm-build of this image does not know {flags}: TensorRT-LLM has max_seq_len in its place since 0.12, so the image is "
        "newer than "
        "toolchain.release says; remove toolchain.image, or set the release that is in it",
    ),
    KnownFailure(
        "2",
        Reason.UNSUPPORTED_BUILD_FLAG,
        r"unrecognized arguments: (?P<flags>.*--kv_cache_type\b.*)",
        "trtllm-build of this image does not know {flags}: kv_cache_type exists since TensorRT-LLM 0.13, so the image is older than "
        "toolchain.release says; remove toolchain.image, or set the release that is in it",
    ),
    KnownFailure(
        "1",
        Reason.UNSUPPORTED_BUILD_FLAG,
        r"unrecognized arguments: (?P<flags>.+)",
        "the build program of this release does not know {flags}: remove it from buildConfig.plugin_config, or choose a release "
        "that has it",
    ),
    KnownFailure(
        "2",
        Reason.UNSUPPORTED_BUILD_FLAG,
        r"error: argument (?P<flag>--\w+): (?P<what>(?:invalid|expected) .+)",
        "the build program of this release takes no such value for {flag}: {what}; correct the key in buildConfig",
    ),
    KnownFailure(
        "2",
        Reason.BUILD_FLAG_CONFLICT,
        r"AssertionError: .*(?:paged_kv_cache.*kv_cache_type|kv_cache_type.*paged_kv_cache).*",
        "plugin_config.paged_kv_cache and plugin_config.kv_cache_type contradict each other: keep paged_kv_cache and remove kv_cache_type",
    ),
    KnownFailure(
        "30",
        Reason.BUILD_FLAG_CONFLICT,
        r"multiple_profiles.*opt_num_tokens|opt_num_tokens.*multiple_profiles",
        "opt_num_tokens can't be given together with plugin_config.multiple_profiles: remove one of the two",
    ),
    KnownFailure(
        "3",
        Reason.GPU_FEATURE_UNSUPPORTED,
        r"Assertion failed: Unsupported architecture",
        "the fused context attention has no kernel for this GPU (before SM 80 it has none but for SM 70): the engine must be built with "
        "plugin_config.context_fmha: disable, which is the default for a T4; prefixCache is then not to be had",
    ),
    KnownFailure(
        "5",
        Reason.DTYPE_UNSUPPORTED,
        r"pre SM ?80 GPUs do not support bfloat16",
        "bfloat16 was asked for, and this GPU is older than SM 80, which knows float16 only: set model.weights to float16",
    ),
    KnownFailure(
        "4",
        Reason.GPU_ARCH_UNSUPPORTED,
        r"no kernel image is available|not supported on SM ?(?P<sm>\d+)",
        "this release has no code for this GPU (architecture: {sm}): choose a release that runs on it, `vertical-engines toolchains` "
        "lists them; for a T4 that is 24.09 or older",
    ),
    KnownFailure(
        "13",
        Reason.GPU_OUT_OF_MEMORY,
        r"Tried to allocate (?P<wanted>[\d.]+ \w+)(?:.*?total capacity of (?P<total>[\d.]+ \w+))?"
        r"(?:.*?of which (?P<free>[\d.]+ \w+) is free)?",
        "the GPU has no room: {wanted} wanted at once, {free} free of {total}; use a smaller max_batch_size, max_num_tokens or "
        "max_seq_len, "
        "weights of fewer bits, or a GPU with more memory",
    ),
    KnownFailure(
        "13",
        Reason.GPU_OUT_OF_MEMORY,
        r"CUDA out of memory|cudaMallocAsync|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|Error Code 2: OutOfMemory"
        r"|CUDA runtime error in .*: out of memory|Requested amount of GPU memory",
        "the GPU has no room for weights, KV cache and workspace together: use a smaller max_batch_size, max_num_tokens or max_seq_len, "
        "weights of fewer bits, or a GPU with more memory, and nothing else on that GPU",
    ),
    KnownFailure(
        "25c",
        Reason.GPU_RUNTIME_MISSING,
        r"(?P<library>lib(?:nvidia-ml|cuda)\.so(?:\.\d+)?): cannot open shared object file",
        "the container has no GPU driver ({library} is missing): the node needs NVIDIA's container runtime, and the placement an "
        "accelerator, conversion and build included",
    ),
    KnownFailure(
        "25c",
        Reason.GPU_RUNTIME_MISSING,
        r"CUDA driver version is insufficient for CUDA runtime version"
        r"|driver on your system is too old(?: \(found version (?P<driver>\d+)\))?",
        "the node's NVIDIA driver is too old for the CUDA of this image ({driver}): update the driver, or choose an older release; "
        "`vertical-engines toolchains` lists the driver of each",
    ),
    KnownFailure(
        "25b",
        Reason.BACKEND_VERSION_MISMATCH,
        r"can't open file '(?P<path>[^']+\.py)'",
        "this image has no {path}: releases up to 24.12 come without TensorRT-LLM's scripts, so the toolchain image has to be built "
        "with them (docs/tensorrt-llm.md)",
    ),
    KnownFailure(
        "25b",
        Reason.BACKEND_VERSION_MISMATCH,
        r"ModuleNotFoundError: No module named '(?P<module>(?:tensorrt_llm|tensorrt|modelopt|torch|transformers)(?:\.[\w.]+)?)'",
        "the image's Python has no {module}: it is no image of TensorRT-LLM, or one of another release; check toolchain.image",
    ),
    KnownFailure(
        "23",
        Reason.TOKENIZER_UNAVAILABLE,
        r"trust_remote_code=True|contains custom code which must be executed",
        "the model brings Python code of its own, which is not run from a model source: use a model that transformers knows by itself",
    ),
    KnownFailure(
        "23",
        Reason.TOKENIZER_UNAVAILABLE,
        r"Tokenizer class (?P<what>\S+) does not exist|Can't load tokenizer for '(?P<path>[^']+)'"
        r"|Repo id must be in the form|Couldn't (?:connect|reach) .*huggingface|does not appear to have a file named tokenizer"
        r"|We couldn't connect to .+ to load (?:this|the) files?",
        "the tokenizer can't be loaded from the model source (class {what}, path {path}), and the pod asks no hub: the source must hold "
        "tokenizer.json or the files of a tokenizer class that this release knows",
    ),
)
"""What conversion and build print."""

LOADING = (
    KnownFailure(
        "6",
        Reason.ENGINE_GPU_MISMATCH,
        r"incompatible device, expecting compute (?P<here>[\d.]+\d) got compute (?P<built>[\d.]+\d)",
        "the engine was built for compute capability {built}, the GPU of this pod has {here}: check the label nvidia.com/gpu.product of "
        "the node, and build on that GPU type",
    ),
    KnownFailure(
        "7",
        Reason.ENGINE_RUNTIME_MISMATCH,
        r"expecting library version (?P<here>[\d.]+\d) got (?:library version )?(?P<built>[\d.]+\d)",
        "the engine was built with TensorRT {built}, this image has {here}: build and serve with one image; check toolchain.image",
    ),
    KnownFailure(
        "7",
        Reason.ENGINE_RUNTIME_MISMATCH,
        r"(?:Version tag does not match|stdVersionRead == kSERIALIZATION_VERSION failed)"
        r"(?:.*?Current Version: (?P<here>\d+), Serialized Engine Version: (?P<built>\d+))?",
        "the engine was written by another TensorRT (its format {built}, this image reads {here}): build and serve with one image; "
        "check toolchain.image",
    ),
    KnownFailure(
        "8",
        Reason.ENGINE_RUNTIME_MISMATCH,
        r"Expected length \((?P<here>\d+)\) != real length \((?P<built>\d+)\)",
        "a plugin of the engine has {built} bytes of state, this image's TensorRT-LLM expects {here}: another TensorRT-LLM built it; build "
        "and serve with one image; check toolchain.image",
    ),
    KnownFailure(
        "25",
        Reason.ENGINE_RUNTIME_MISMATCH,
        r"json\.exception\.out_of_range\.403\] key '(?P<key>[^']+)' not found",
        "config.json of the engine has no {key}, which this image's TensorRT-LLM needs: another TensorRT-LLM built it; build and "
        "serve with "
        "one image; check toolchain.image",
    ),
    KnownFailure(
        "25b",
        Reason.BACKEND_VERSION_MISMATCH,
        r"(?P<library>\S+\.so(?:\.\d+)*): undefined symbol: (?P<symbol>\w+)",
        "{library} and the TensorRT-LLM beside it are of different releases ({symbol} is missing): the image mixes two; use the toolchain "
        "image of one release",
    ),
    KnownFailure(
        "25b",
        Reason.BACKEND_VERSION_MISMATCH,
        r"unable to find backend library for backend '(?P<backend>[^']*)'",
        "this image has no Triton backend {backend}: it is no image of the backend that toolchain.backend names; check toolchain.image",
    ),
    KnownFailure(
        "9",
        Reason.KV_CACHE_BATCHING_CONFLICT,
        r"TrtGptModelInflightBatching requires .*packed input and paged KV cache",
        "batching InFlight was asked for an engine with a contiguous KV cache: set buildConfig.plugin_config.paged_kv_cache to true, or "
        "batching to Static",
    ),
    KnownFailure(
        "10",
        Reason.BATCHING_UNSUPPORTED,
        r"Static batching type is deprecated",
        "batching Static was asked for, and TensorRT-LLM has none since 0.20 (image 25.06): set batching to InFlight with "
        "plugin_config.paged_kv_cache: true and max_batch_size 1, or use release 25.05 or older",
    ),
    KnownFailure(
        "11",
        Reason.PREFIX_CACHE_UNAVAILABLE,
        r"KV cache block reuse is set, model has to be built with paged context FMHA",
        NO_PAGED_CONTEXT,
    ),
    KnownFailure(
        "12",
        Reason.KV_CACHE_TOO_SMALL,
        r"maxTokensInPagedKvCache \((?P<have>\d+)\) must be large enough"
        r"(?:.*?beam_?[wW]idth \((?P<beams>\d+)\) \* tokens_?[pP]er_?[bB]lock \((?P<tokens>\d+)\) \* max_?[bB]locks_?[pP]er_?[sS]eq"
        r" \((?P<blocks>\d+)\))?",
        "the KV cache holds {have} tokens, less than one longest sequence ({beams} beams x {blocks} blocks of {tokens} tokens): lower "
        "max_seq_len (or max_input_len and max_output_len), or use a GPU with more memory",
    ),
    KnownFailure(
        "17",
        Reason.WORLD_SIZE_MISMATCH,
        r"mpiSize == tp \* pp|MPI worldSize is expected to be equal to tp\*pp(?:.*?\((?P<ranks>\d+)\).*?\((?P<wanted>\d+)\))?",
        "the engine is for another number of GPUs than the server has processes ({wanted} wanted, {ranks} there): "
        "accelerator.count decides "
        "both, so the engine was not built by this placement; delete the Engine",
    ),
    KnownFailure(
        "18",
        Reason.MODEL_CONFIG_INCOMPLETE,
        r"Expected integer, got: \$|Expected .+, got: \$",
        "a config.pbtxt of the pipeline holds a placeholder ${{…}} that nothing fills in: write the value",
    ),
    KnownFailure(
        "19",
        Reason.STREAMING_CONFIG_CONFLICT,
        r"Streaming is only supported if model is deployed using decoupled mode",
        "a streaming request came to a model that is not decoupled: the SLM answers once a request; leave `streaming` out",
        ends=False,
    ),
    KnownFailure(
        "20",
        Reason.RESPONSE_CACHE_CONFLICT,
        r"Response Cache does not currently support model '?(?P<model>[\w-]+)'?.* with '(?P<kind>[\w -]+)'",
        "responseCache names the model {model}, which is {kind}: Triton can't cache those; take it out of responseCache.models",
    ),
    KnownFailure(
        "22",
        Reason.ENGINE_MISSING,
        r"Both encoder and decoder model paths are empty",
        "the server finds no engine at the path of its configuration: the store's volume lacks it or the pod may not read it; the Engine "
        "object shows its state",
    ),
    KnownFailure(
        "27",
        Reason.MODEL_CONFIG_INVALID,
        r"Do not set crossKvCacheFraction for decoder-only model",
        "cross_kv_cache_fraction is set for a model without an encoder: remove it from the model's parameters",
    ),
    KnownFailure(
        "24",
        Reason.SHARED_MEMORY_TOO_SMALL,
        r"[Uu]nable to initialize shared memory|boost::interprocess.*No space left|Failed to increase the shared memory pool size",
        "a Python model could not get shared memory: /dev/shm of the pod is too small for that many instances; lower the instance counts "
        "of the pipeline's models or their payloads",
    ),
    KnownFailure(
        "24",
        Reason.PIPELINE_INVALID,
        r"Stub process '?(?P<process>[\w.-]+)'? is (?:not healthy|unhealthy)",
        "the process of a Python model ({process}: model, instance, device) died without a Python error: its code or a library ended or "
        "crashed it, or it was killed for want of memory; what it printed stands in the log of the container",
    ),
    KnownFailure(
        "26",
        Reason.RUNTIME_CRASH,
        r"mNextBlocks\.empty\(\)",
        "TensorRT-LLM lost track of shared KV blocks, a fault of some releases under load: switch prefixCache off, or use a newer release",
    ),
    KnownFailure(
        "15",
        Reason.PROMPT_TOO_LONG,
        r"Prompt length \((?P<got>\d+)\) exceeds maximum input length \((?P<limit>\d+)\)",
        "a prompt had {got} tokens, the engine takes {limit}: shorten it, or raise max_input_len, and max_num_tokens to at least as much",
        ends=False,
    ),
    KnownFailure(
        "16",
        Reason.REQUEST_TOO_LONG,
        r"[Ii]nput length (?:\(?(?P<got>\d+)\)? )?\+ max new tokens (?:\(?(?P<new>\d+)\)? )?.*must be less than max sequence length"
        r"(?: (?:of )?\(?(?P<limit>\d+)\)?)?",
        "a request wanted {got} tokens of prompt and {new} of answer, the engine holds {limit} together: ask for fewer, or raise "
        "max_seq_len",
        ends=False,
    ),
    KnownFailure(
        "7",
        Reason.ENGINE_RUNTIME_MISMATCH,
        r"Failed to deserialize cuda engine",
        "the engine can't be read here: another TensorRT, TensorRT-LLM or GPU built it, or its file is cut off; check toolchain.image and "
        "the node's GPU, then delete the Engine to have it built again",
    ),
    KnownFailure(
        "28",
        Reason.DEPENDENCY_NOT_LOADED,
        r"depends on '?(?P<model>[\w-]+)'?.* which has no loaded version",
        "the model {model} did not load, and others need it: the first error of the server's log says why",
    ),
    # Warnings, after which a server goes on: behind everything that ends one.
    KnownFailure(
        "11", Reason.PREFIX_CACHE_UNAVAILABLE, r"KV cache reuse disabled because model was not built", NO_PAGED_CONTEXT, ends=False
    ),
    KnownFailure(
        "21",
        Reason.METRICS_DEGRADED,
        r"Failed to find Max KV cache blocks in metrics",
        "TensorRT-LLM gives no KV cache metrics for a contiguous KV cache: scale by request metrics instead",
        ends=False,
    ),
)
"""What a server prints while it loads and serves. General words come after particular ones."""

KNOWN_FAILURES = BUILDING + LOADING


def explain(lines: Iterable[str], *, ended: bool = False) -> tuple[Reason, str] | None:
    """Reason and message of the first entry, in the order of the table, whose words stand in the lines of a log; `ended`: of a process."""
    text = "\n".join(lines)
    fitting = (known for known in KNOWN_FAILURES if known.ends or not ended)
    return next(((known.reason, message) for known in fitting if (message := known.explain(text))), None)
