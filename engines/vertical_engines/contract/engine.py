"""Identity of an engine: what its bytes depend on, and the content-addressed engine key made from it."""

from typing import Any, Literal

from pydantic import Field

from vertical_engines.contract.frozen import Frozen, digest

CONTRACT_VERSION = 1
"""Raise it when builders of one release would give other bytes for the same request: every key changes then."""

SHORT_KEY_LENGTH = 10

Backend = Literal["TensorRTLLM", "TensorRTLLMPyTorch", "OpenVINO"]
Weights = Literal["source", "float16", "bfloat16", "int8", "int4", "fp8"]
KvLayout = Literal["contiguous", "paged"]


class HuggingFaceSource(Frozen):
    repository: str
    revision: str
    path: str | None = None
    """Folder of the repository that holds the model; None: its root."""
    files: list[str] | None = None
    """Patterns of the files that are wanted; None: chosen by kind."""


class ImageSource(Frozen):
    reference: str
    path: str


class ClaimSource(Frozen):
    claim_name: str
    path: str = ""


class ObjectStoreSource(Frozen):
    uri: str


class ModelSource(Frozen):
    """Where the weights come from: exactly one field is set (the schema of both kinds enforces it).

    Endpoints, proxies and Secrets are a road to the bytes, not the bytes: `contract.fetch.ModelAccess` holds them.
    """

    hugging_face: HuggingFaceSource | None = None
    image: ImageSource | None = None
    persistent_volume_claim: ClaimSource | None = None
    object_store: ObjectStoreSource | None = None


class Toolchain(Frozen):
    """The builder and runtime: backend, release (a row of the matrix) and the image that both use."""

    backend: Backend
    release: str
    image: str


class Accelerator(Frozen):
    """One GPU type: `product` is the value of the node label nvidia.com/gpu.product."""

    product: str
    count: int = Field(default=1, ge=1)


class BuildFlags(Frozen):
    """Resolved build limits, in tokens and requests; `plugin_config` keeps TensorRT-LLM's own keys."""

    max_input_len: int
    max_output_len: int
    max_seq_len: int
    max_batch_size: int
    max_beam_width: int = 1
    max_num_tokens: int | None = None
    opt_num_tokens: int | None = None
    kv_layout: KvLayout
    plugin_config: dict[str, Any] = Field(default_factory=dict)


class EngineIdentity(Frozen):
    """Everything that changes the bytes of an engine, and nothing that does not."""

    source: ModelSource
    revision: str = ""
    weights: Weights = "source"
    build: BuildFlags
    toolchain: Toolchain
    accelerator: Accelerator | None = None

    def key(self) -> str:
        """The engine key: 64 hex digits."""
        content = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return digest({"contractVersion": CONTRACT_VERSION, **content})


def short_key(key: str) -> str:
    """The form people read: the first 10 hex digits."""
    return key[:SHORT_KEY_LENGTH]


def model_version(key: str) -> int:
    """Triton version number of an engine: 1 to 2**31 - 1, derived from the key, so that no cache can mix two engines."""
    return int(key[:16], 16) % (2**31 - 1) + 1
