"""Variants and placements: how one model is built and batched, and on which GPU type it runs."""

from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field, StrictBool, StrictInt

from vertical_engines.contract.engine import Backend
from vertical_engines.contract.frozen import Frozen
from vertical_operator.api.v1alpha1.build_config import BuildConfig
from vertical_operator.api.v1alpha1.openvino import OpenVinoSettings
from vertical_operator.api.v1alpha1.rules import Rule, Ruled
from vertical_operator.api.v1alpha1.scalars import ImageReference, Name, Quantity, QueueName, Size, Text, TritonName, distinct, list_map

Batching = Literal["Static", "InFlight"]
Decoding = Literal["Greedy", "Sampling"]


class ToolchainSpec(Frozen):
    """Which builder and runtime: a row of the compatibility matrix."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    backend: Backend
    release: Annotated[str, Field(min_length=1, max_length=40)]
    """A release of that backend. Quote it: 2026.10 without quotes is a number."""
    image: ImageReference | None = None
    """Another image that builds and serves, instead of the matrix row's."""


class AcceleratorSpec(Frozen):
    """One GPU type."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    product: Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$")]
    """Value of the node label nvidia.com/gpu.product."""
    count: Annotated[StrictInt, Field(ge=1, le=64)] = 1
    """GPUs of one pod."""


class Toleration(Ruled):
    """A node taint that pods of the placement tolerate."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel="self.operator == 'Exists' ? !has(self.value) : has(self.key)",
            message="a toleration with operator Exists has no value; with operator Equal (the default) it needs a key",
            holds=lambda toleration: toleration.value is None if toleration.operator == "Exists" else toleration.key is not None,
        ),
    )

    key: Text | None = None
    operator: Literal["Exists", "Equal"] = "Equal"
    value: Text | None = None
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    toleration_seconds: Annotated[StrictInt, Field(ge=0)] | None = None


class Resources(Frozen):
    """Requests and limits of the server's container, and of the build."""

    requests: Annotated[dict[str, Quantity], Field(max_length=16)] = Field(default_factory=dict)
    limits: Annotated[dict[str, Quantity], Field(max_length=16)] = Field(default_factory=dict)


class Placement(Frozen):
    """One GPU type, or CPU pool, on which the variant runs."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    name: Name
    accelerator: AcceleratorSpec | None = None
    """Left out: CPU."""
    toolchain: ToolchainSpec | None = None
    """Another toolchain than the variant's: two GPU types may share no release."""
    replicas: Annotated[StrictInt, Field(ge=0, le=1000)] = 1
    node_selector: Annotated[dict[str, Text], Field(max_length=16)] = Field(default_factory=dict)
    """More node labels that pods and builds need."""
    tolerations: Annotated[tuple[Toleration, ...], Field(max_length=16)] = ()
    resources: Resources | None = None
    queue_name: QueueName | None = None
    """Kueue LocalQueue of the namespace that the build waits in; left out: the scheduler alone decides. Serving pods never wait in it."""


class ResponseCache(Frozen):
    """Triton's local response cache, only ever on internal models behind the entry model."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    size: Size
    """Memory of the cache."""
    models: Annotated[tuple[TritonName, ...], Field(min_length=1, max_length=16, json_schema_extra={"x-kubernetes-list-type": "set"})]
    """Internal models whose responses are kept."""


class PrefixCache(Frozen):
    """Reuse of KV blocks between requests that begin alike."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    enabled: StrictBool = False
    host_memory: Size | None = None
    """Host memory for blocks that leave the GPU."""


def _paged(variant: "Variant") -> bool:
    return variant.build_config.plugin_config.paged_kv_cache


IN_FLIGHT_NEEDS_PAGED = Rule(
    cel="!has(self.batching) || self.batching != 'InFlight' || self.buildConfig.plugin_config.paged_kv_cache",
    message="batching InFlight needs a paged KV cache: set buildConfig.plugin_config.paged_kv_cache to true, or batching to Static",
    holds=lambda variant: variant.batching != "InFlight" or _paged(variant),
)
PREFIX_CACHE_NEEDS_PAGED = Rule(
    cel="!has(self.prefixCache) || !self.prefixCache.enabled || self.buildConfig.plugin_config.paged_kv_cache",
    message="prefixCache needs a paged KV cache: set buildConfig.plugin_config.paged_kv_cache to true, or prefixCache.enabled to false",
    holds=lambda variant: variant.prefix_cache is None or not variant.prefix_cache.enabled or _paged(variant),
)
NO_CACHED_SAMPLING = Rule(
    cel="!has(self.responseCache) || self.decoding != 'Sampling'",
    message="responseCache would repeat one sampled answer for ever: remove responseCache, or set decoding to Greedy",
    holds=lambda variant: variant.response_cache is None or variant.decoding != "Sampling",
)


class Variant(Ruled):
    """One way to build and run the model."""

    model_config = ConfigDict(use_attribute_docstrings=True)
    rules: ClassVar[tuple[Rule, ...]] = (IN_FLIGHT_NEEDS_PAGED, PREFIX_CACHE_NEEDS_PAGED, NO_CACHED_SAMPLING)

    name: Name
    build_config: BuildConfig
    """TensorRT-LLM's own keys, verbatim, whatever the backend."""
    batching: Batching | None = None
    """Left out: InFlight with a paged KV cache, Static with a contiguous one."""
    decoding: Decoding = "Greedy"
    toolchain: ToolchainSpec | None = None
    """Another toolchain than the service's."""
    response_cache: ResponseCache | None = None
    prefix_cache: PrefixCache | None = None
    openvino: OpenVinoSettings | None = None
    """How the OpenVINO backend loads the engine; nothing of it is built in, so none of it makes another engine."""
    placements: Annotated[tuple[Placement, ...], list_map("name", max_items=8, min_items=1), distinct("name")]

    @property
    def effective_batching(self) -> Batching:
        return self.batching or ("InFlight" if _paged(self) else "Static")
