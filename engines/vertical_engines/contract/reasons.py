"""The one enumeration of reasons that conditions, termination messages and logs use, each with what it means and what to do."""

from enum import Enum


class Reason(str, Enum):
    """CamelCase reasons. `docs/reference/reasons.md` is generated from REASONS below."""

    # going well
    READY = "Ready"
    BUILT = "Built"
    VERIFIED = "Verified"
    AVAILABLE = "Available"
    CURRENT = "Current"
    # in progress
    PENDING = "Pending"
    BUILDING = "Building"
    ROLLING_OUT = "RollingOut"
    WAITING_FOR_ENGINE = "WaitingForEngine"
    WAITING_FOR_POD = "WaitingForPod"
    WAITING_FOR_STORE = "WaitingForStore"
    DELETING = "Deleting"
    # not well
    INVALID_SPEC = "InvalidSpec"
    NOT_OWNED = "NotOwned"
    NO_MATCHING_GPU = "NoMatchingGPU"
    UNKNOWN_TOOLCHAIN = "UnknownToolchain"
    UNSUPPORTED_BUILD_FLAG = "UnsupportedBuildFlag"
    GPU_ARCH_UNSUPPORTED = "GpuArchUnsupported"
    KV_CACHE_BATCHING_CONFLICT = "KvCacheBatchingConflict"
    RESPONSE_CACHE_CONFLICT = "ResponseCacheConflict"
    MODEL_NOT_FOUND = "ModelNotFound"
    MODEL_INVALID = "ModelInvalid"
    MODEL_ACCESS_DENIED = "ModelAccessDenied"
    MODEL_SOURCE_UNAVAILABLE = "ModelSourceUnavailable"
    MODEL_SOURCE_MOVED = "ModelSourceMoved"
    PIPELINE_INVALID = "PipelineInvalid"
    IMAGE_UNAVAILABLE = "ImageUnavailable"
    STORE_FULL = "StoreFull"
    STORE_UNAVAILABLE = "StoreUnavailable"
    BUILD_FAILED = "BuildFailed"
    BUILD_OUT_OF_MEMORY = "BuildOutOfMemory"
    BUILD_DEADLINE_EXCEEDED = "BuildDeadlineExceeded"
    VERIFICATION_FAILED = "VerificationFailed"
    ENGINE_MISSING = "EngineMissing"
    ENGINE_CORRUPT = "EngineCorrupt"
    ENGINE_GPU_MISMATCH = "EngineGpuMismatch"
    ENGINE_RUNTIME_MISMATCH = "EngineRuntimeMismatch"
    ROLLOUT_DEADLINE_EXCEEDED = "RolloutDeadlineExceeded"
    CONTAINER_CRASHING = "ContainerCrashing"
    CHILD_REFUSED = "ChildRefused"
    # known words of builds and servers
    BUILD_FLAG_CONFLICT = "BuildFlagConflict"
    GPU_FEATURE_UNSUPPORTED = "GpuFeatureUnsupported"
    DTYPE_UNSUPPORTED = "DtypeUnsupported"
    GPU_OUT_OF_MEMORY = "GpuOutOfMemory"
    GPU_RUNTIME_MISSING = "GpuRuntimeMissing"
    TOKENIZER_UNAVAILABLE = "TokenizerUnavailable"
    BACKEND_VERSION_MISMATCH = "BackendVersionMismatch"
    BATCHING_UNSUPPORTED = "BatchingUnsupported"
    PREFIX_CACHE_UNAVAILABLE = "PrefixCacheUnavailable"
    KV_CACHE_TOO_SMALL = "KvCacheTooSmall"
    WORLD_SIZE_MISMATCH = "WorldSizeMismatch"
    MODEL_CONFIG_INCOMPLETE = "ModelConfigIncomplete"
    MODEL_CONFIG_INVALID = "ModelConfigInvalid"
    STREAMING_CONFIG_CONFLICT = "StreamingConfigConflict"
    SHARED_MEMORY_TOO_SMALL = "SharedMemoryTooSmall"
    RUNTIME_CRASH = "RuntimeCrash"
    PROMPT_TOO_LONG = "PromptTooLong"
    REQUEST_TOO_LONG = "RequestTooLong"
    METRICS_DEGRADED = "MetricsDegraded"
    DEPENDENCY_NOT_LOADED = "DependencyNotLoaded"


REASONS: dict[Reason, tuple[str, str]] = {
    Reason.READY: ("Everything that was asked for serves.", "Nothing."),
    Reason.BUILT: ("The engine stands in the store.", "Nothing."),
    Reason.VERIFIED: ("The engine was loaded and generated text before it was published.", "Nothing."),
    Reason.AVAILABLE: ("Every placement has its wanted replicas ready.", "Nothing."),
    Reason.CURRENT: ("Status describes the newest generation; there is nothing to do.", "Nothing."),
    Reason.PENDING: ("Not looked at yet.", "Wait; if it stays, look at the operator's own pod."),
    Reason.BUILDING: ("A build Job is at work.", "Wait; the message names the Job and its deadline."),
    Reason.ROLLING_OUT: ("Pods of the wanted revision are coming up.", "Wait; the message names what is waited for and the deadline."),
    Reason.WAITING_FOR_ENGINE: ("An engine of this variant is not built yet.", "Look at the Engine named in the message."),
    Reason.WAITING_FOR_POD: ("A pod can't start yet.", "The message says what the scheduler or the kubelet waits for."),
    Reason.WAITING_FOR_STORE: ("The claim of the engine store is not bound yet.", "Check the storage class of the claim."),
    Reason.DELETING: ("The object is being deleted; files are being removed from the store.", "Wait; the wait is bounded."),
    Reason.INVALID_SPEC: (
        "The spec contradicts itself in a way that the schema can't express.",
        "Correct the field that the message names.",
    ),
    Reason.NOT_OWNED: (
        "An object with the name of a child exists and belongs to somebody else.",
        "Rename one of the two, or delete the other.",
    ),
    Reason.NO_MATCHING_GPU: (
        "No node has the GPU product of a placement.",
        "Use one of the products that the message lists, or add such a node.",
    ),
    Reason.UNKNOWN_TOOLCHAIN: ("The compatibility matrix has no such backend and release.", "Use a release that the message lists."),
    Reason.UNSUPPORTED_BUILD_FLAG: ("The release does not know a build flag.", "Remove the flag, or choose a release that has it."),
    Reason.GPU_ARCH_UNSUPPORTED: ("The release does not run on that GPU.", "Choose a release of the list in the message."),
    Reason.KV_CACHE_BATCHING_CONFLICT: (
        "In-flight batching or prefix caching needs a paged KV cache.",
        "Set paged_kv_cache: true, or batching: Static without prefixCache.",
    ),
    Reason.RESPONSE_CACHE_CONFLICT: (
        "The response cache can't be used with this variant.",
        "Remove responseCache, or use decoding: Greedy.",
    ),
    Reason.MODEL_NOT_FOUND: ("The path does not exist in the model source.", "Correct spec.model.source; the message lists what is there."),
    Reason.MODEL_INVALID: ("The files are not a model that this backend can read.", "Check the source; the message says what was found."),
    Reason.MODEL_ACCESS_DENIED: (
        "The hub or object store refuses the model to these credentials.",
        "Put a token that may read it into the Secret that the source names; accept the licence of a gated model.",
    ),
    Reason.MODEL_SOURCE_UNAVAILABLE: (
        "The model source can't be reached, or sends damaged files, or its Secret is missing.",
        "Check endpoint, proxy, Secret and the network; it is tried again by itself.",
    ),
    Reason.MODEL_SOURCE_MOVED: (
        "The source gives other files under the same revision than before.",
        "Pin the revision to a commit, or change spec.model.revision to take the new files.",
    ),
    Reason.PIPELINE_INVALID: (
        "The pipeline image lacks the path, the entry model or a valid config.pbtxt.",
        "Correct spec.pipeline or the image.",
    ),
    Reason.IMAGE_UNAVAILABLE: ("An image can't be pulled.", "Correct the reference, or give the node access to the registry."),
    Reason.STORE_FULL: (
        "The volume of the engine store has no room.",
        "Enlarge the claim or delete services that no longer serve; it is tried again by itself.",
    ),
    Reason.STORE_UNAVAILABLE: (
        "The engine store can't be used: claim missing or not writable.",
        "Create the claim, or correct spec.engineStore.",
    ),
    Reason.BUILD_FAILED: ("The builder ended with an error that has no translation.", "Read the log lines in the Engine's status."),
    Reason.BUILD_OUT_OF_MEMORY: ("The build ran out of memory.", "Raise the memory limit of the placement's resources."),
    Reason.BUILD_DEADLINE_EXCEEDED: ("The build did not end in time.", "Look at the Job's pod; delete the Job to try again."),
    Reason.VERIFICATION_FAILED: (
        "The engine was built, but loading it or generating from it failed.",
        "Read the log lines in the Engine's status.",
    ),
    Reason.ENGINE_MISSING: ("The engine is not in the store.", "Delete the Engine: it is built again."),
    Reason.ENGINE_CORRUPT: ("Files in the store differ from the manifest.", "Delete the Engine: it is built again."),
    Reason.ENGINE_GPU_MISMATCH: ("The engine was built for another GPU than the pod has.", "Check the node's labels and the placement."),
    Reason.ENGINE_RUNTIME_MISMATCH: (
        "The engine was built by another toolchain than the pod runs.",
        "Check toolchain and image overrides.",
    ),
    Reason.ROLLOUT_DEADLINE_EXCEEDED: (
        "Pods of the wanted revision did not become ready in time.",
        "The message names the container and its last words.",
    ),
    Reason.CONTAINER_CRASHING: ("A container of a pod ends again and again.", "The message holds its last words."),
    Reason.CHILD_REFUSED: ("The API server refused a child.", "The message holds the server's words; correct the field it names."),
    Reason.BUILD_FLAG_CONFLICT: ("Two build flags contradict each other.", "Remove the one that the message names."),
    Reason.GPU_FEATURE_UNSUPPORTED: (
        "A build flag or feature needs another GPU.",
        "Switch it off, or use a newer GPU; the message names both.",
    ),
    Reason.DTYPE_UNSUPPORTED: ("The GPU can't compute in that number type.", "Set model.weights to one that the message names."),
    Reason.GPU_OUT_OF_MEMORY: ("Weights, KV cache and workspace don't fit into the GPU.", "Smaller limits, fewer bits, or a larger GPU."),
    Reason.GPU_RUNTIME_MISSING: (
        "The container sees no GPU driver.",
        "Give the node NVIDIA's container runtime and the placement an accelerator.",
    ),
    Reason.TOKENIZER_UNAVAILABLE: (
        "The tokenizer can't be loaded from the model source.",
        "Add its files to the source; nothing is downloaded.",
    ),
    Reason.BACKEND_VERSION_MISMATCH: ("Triton's backend is missing in the image or of another release.", "Check toolchain.image."),
    Reason.BATCHING_UNSUPPORTED: (
        "The release can't batch in that way.",
        "Set batching to InFlight with a paged KV cache, or an older release.",
    ),
    Reason.PREFIX_CACHE_UNAVAILABLE: (
        "The engine can't share KV blocks between requests.",
        "Build it with paged context attention, or remove prefixCache.",
    ),
    Reason.KV_CACHE_TOO_SMALL: ("The KV cache holds less than one longest sequence.", "Lower max_seq_len, or use a GPU with more memory."),
    Reason.WORLD_SIZE_MISMATCH: (
        "Engine and server count different numbers of GPUs.",
        "Delete the Engine; accelerator.count decides both.",
    ),
    Reason.MODEL_CONFIG_INCOMPLETE: ("A config.pbtxt holds a placeholder that nothing fills in.", "Write the value."),
    Reason.MODEL_CONFIG_INVALID: ("A parameter of a config.pbtxt does not fit the model.", "Remove the one that the message names."),
    Reason.STREAMING_CONFIG_CONFLICT: ("Streaming was asked of a model that answers once.", "Leave streaming out."),
    Reason.SHARED_MEMORY_TOO_SMALL: ("Python models ran out of shared memory.", "Fewer instances or smaller payloads."),
    Reason.RUNTIME_CRASH: ("A known fault of the release ended the server.", "The message names a way around it."),
    Reason.PROMPT_TOO_LONG: ("A prompt is longer than the engine takes.", "Shorten it, or raise max_input_len."),
    Reason.REQUEST_TOO_LONG: (
        "Prompt and answer together are longer than the engine takes.",
        "Ask for fewer tokens, or raise max_seq_len.",
    ),
    Reason.METRICS_DEGRADED: ("The server gives fewer metrics than usual.", "Scale by request metrics."),
    Reason.DEPENDENCY_NOT_LOADED: ("A model did not load that others need.", "Look for the first error in the server's log."),
}
