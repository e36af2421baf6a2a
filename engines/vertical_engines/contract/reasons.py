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
    UNSUPPORTED_MODEL_SOURCE = "UnsupportedModelSource"
    GPU_ARCH_UNSUPPORTED = "GpuArchUnsupported"
    KV_CACHE_BATCHING_CONFLICT = "KvCacheBatchingConflict"
    RESPONSE_CACHE_CONFLICT = "ResponseCacheConflict"
    MODEL_NOT_FOUND = "ModelNotFound"
    MODEL_INVALID = "ModelInvalid"
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
    Reason.INVALID_SPEC: ("The spec contradicts itself in a way that the schema can't express.", "Correct the field that the message names."),
    Reason.NOT_OWNED: ("An object with the name of a child exists and belongs to somebody else.", "Rename one of the two, or delete the other."),
    Reason.NO_MATCHING_GPU: ("No node has the GPU product of a placement.", "Use one of the products that the message lists, or add such a node."),
    Reason.UNKNOWN_TOOLCHAIN: ("The compatibility matrix has no such backend and release.", "Use a release that the message lists."),
    Reason.UNSUPPORTED_BUILD_FLAG: ("The release does not know a build flag.", "Remove the flag, or choose a release that has it."),
    Reason.UNSUPPORTED_MODEL_SOURCE: ("This version can't fetch from that kind of source yet.", "Use an image or a PersistentVolumeClaim."),
    Reason.GPU_ARCH_UNSUPPORTED: ("The release does not run on that GPU.", "Choose a release of the list in the message."),
    Reason.KV_CACHE_BATCHING_CONFLICT: ("In-flight batching or prefix caching needs a paged KV cache.", "Set paged_kv_cache: true, or batching: Static without prefixCache."),
    Reason.RESPONSE_CACHE_CONFLICT: ("The response cache can't be used with this variant.", "Remove responseCache, or use decoding: Greedy."),
    Reason.MODEL_NOT_FOUND: ("The path does not exist in the model source.", "Correct spec.model.source; the message lists what is there."),
    Reason.MODEL_INVALID: ("The files are not a model that this backend can read.", "Check the source; the message says what was found."),
    Reason.PIPELINE_INVALID: ("The pipeline image lacks the path, the entry model or a valid config.pbtxt.", "Correct spec.pipeline or the image."),
    Reason.IMAGE_UNAVAILABLE: ("An image can't be pulled.", "Correct the reference, or give the node access to the registry."),
    Reason.STORE_FULL: ("The volume of the engine store has no room.", "Enlarge the claim or delete services that no longer serve; it is tried again by itself."),
    Reason.STORE_UNAVAILABLE: ("The engine store can't be used: claim missing or not writable.", "Create the claim, or correct spec.engineStore."),
    Reason.BUILD_FAILED: ("The builder ended with an error that has no translation.", "Read the log lines in the Engine's status."),
    Reason.BUILD_OUT_OF_MEMORY: ("The build ran out of memory.", "Raise the memory limit of the placement's resources."),
    Reason.BUILD_DEADLINE_EXCEEDED: ("The build did not end in time.", "Look at the Job's pod; delete the Job to try again."),
    Reason.VERIFICATION_FAILED: ("The engine was built, but loading it or generating from it failed.", "Read the log lines in the Engine's status."),
    Reason.ENGINE_MISSING: ("The engine is not in the store.", "Delete the Engine: it is built again."),
    Reason.ENGINE_CORRUPT: ("Files in the store differ from the manifest.", "Delete the Engine: it is built again."),
    Reason.ENGINE_GPU_MISMATCH: ("The engine was built for another GPU than the pod has.", "Check the node's labels and the placement."),
    Reason.ENGINE_RUNTIME_MISMATCH: ("The engine was built by another toolchain than the pod runs.", "Check toolchain and image overrides."),
    Reason.ROLLOUT_DEADLINE_EXCEEDED: ("Pods of the wanted revision did not become ready in time.", "The message names the container and its last words."),
    Reason.CONTAINER_CRASHING: ("A container of a pod ends again and again.", "The message holds its last words."),
    Reason.CHILD_REFUSED: ("The API server refused a child.", "The message holds the server's words; correct the field it names."),
}
