"""How an engine is loaded: parameters of config.pbtxt to properties of OpenVINO's CPU device."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROPERTIES = {
    "inference_precision": "INFERENCE_PRECISION_HINT",
    "kv_cache_precision": "KV_CACHE_PRECISION",
    "dynamic_quantization_group_size": "DYNAMIC_QUANTIZATION_GROUP_SIZE",
    "threads": "INFERENCE_NUM_THREADS",
}
NUMBERS = ("dynamic_quantization_group_size", "threads")
VALUE_BYTES = {"u8": 2, "f16": 2, "bf16": 2, "f32": 4}
"""Bytes of one cached value at most: u8 has scales beside it. Left out, the CPU takes u8 or less than two bytes."""


@dataclass(frozen=True)
class Loading:
    """`compiled`: folder for compiled blobs, None for none. They hold this CPU's instruction set: they stay in the pod's scratch volume."""

    properties: Mapping[str, Any]
    compiled: Path | None
    value_bytes: int

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, str], *, scratch: Path, cached: bool) -> "Loading":
        """`cached` is whether blobs are kept when the parameters don't say. Raises ValueError for a number that is none."""
        found: dict[str, Any] = {}
        for name, key in PROPERTIES.items():
            if (text := parameters.get(name)) is not None:
                found[key] = int(text) if name in NUMBERS else text
        wanted = parameters.get("compiled_cache", "true" if cached else "false") == "true"
        folder = scratch / "openvino-compiled" / parameters["engine_key"][:10]
        return cls(found, folder if wanted else None, VALUE_BYTES.get(parameters.get("kv_cache_precision", ""), 2))

    def device(self) -> dict[str, Any]:
        """Keyword arguments of an openvino-genai pipeline."""
        return {**self.properties, **({"CACHE_DIR": str(self.compiled)} if self.compiled else {})}
