"""How the OpenVINO backend loads and runs an engine: precision, threads, compiled blobs. Load time only, so no other engine comes of it."""

from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field, StrictBool, StrictInt

from vertical_operator.api.v1alpha1.rules import Rule, Ruled

PRECISIONS = ("inferencePrecision", "kvCachePrecision", "dynamicQuantizationGroupSize")
"""What the deterministic profile sets itself."""


def _free_of_precisions(settings: "OpenVinoSettings") -> bool:
    given = (settings.inference_precision, settings.kv_cache_precision, settings.dynamic_quantization_group_size)
    return settings.profile != "Deterministic" or all(value is None for value in given)


class OpenVinoSettings(Ruled):
    """Settings of OpenVINO's CPU device; what is left out is OpenVINO's own choice for the node's CPU."""

    model_config = ConfigDict(use_attribute_docstrings=True)
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel="self.profile != 'Deterministic' || !(" + " || ".join(f"has(self.{name})" for name in PRECISIONS) + ")",
            message=f"openvino.profile Deterministic sets {', '.join(PRECISIONS)} itself: remove them, or set profile to Default",
            holds=_free_of_precisions,
        ),
    )

    profile: Literal["Default", "Deterministic"] = "Default"
    """Deterministic: f32 throughout and no dynamic quantisation, so that contiguous and paged, alone or batched, answer alike. Slower."""
    inference_precision: Literal["f32", "bf16", "f16"] | None = None
    """Number type of the computation."""
    kv_cache_precision: Literal["u8", "f16", "bf16", "f32"] | None = None
    """Number type of the KV cache; u8 takes a fourth of the memory of f32."""
    dynamic_quantization_group_size: Annotated[StrictInt, Field(ge=0, le=4096)] | None = None
    """Activations are quantised in groups of so many values before they meet quantised weights; 0: never."""
    threads: Annotated[StrictInt, Field(ge=1, le=1024)] | None = None
    """Threads of one inference; give as many as resources.limits.cpu, or leave out."""
    compiled_cache: StrictBool | None = None
    """Keep the compiled model in the pod's scratch volume: a restarted server loads faster. Left out: with contiguous KV cache only."""

    def parameters(self) -> dict[str, str]:
        """As parameters of config.pbtxt: only what is set."""
        fixed = {"inference_precision": "f32", "kv_cache_precision": "f32", "dynamic_quantization_group_size": "0"}
        given = {
            "inference_precision": self.inference_precision,
            "kv_cache_precision": self.kv_cache_precision,
            "dynamic_quantization_group_size": self.dynamic_quantization_group_size,
            "threads": self.threads,
            "compiled_cache": None if self.compiled_cache is None else str(self.compiled_cache).lower(),
        }
        return {name: str(value) for name, value in given.items() if value is not None} | (fixed if self.profile == "Deterministic" else {})
