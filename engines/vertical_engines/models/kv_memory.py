"""How much paged KV memory a server may take: enough for every live request, and what prefixes are kept in."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import openvino

from vertical_engines.models.limits import Limits

BLOCK_TOKENS = 32
"""Tokens in one block of the paged KV cache on CPU."""


@dataclass(frozen=True)
class PrefixCache:
    """`host_memory` in bytes bounds what prefixes are kept in; None: as much as the live requests have."""

    enabled: bool
    host_memory: int | None = None

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, str]) -> "PrefixCache":
        memory = parameters.get("prefix_host_memory_bytes")
        return cls(parameters.get("prefix_caching") == "true", int(memory) if memory else None)


def kv_blocks(engine: Path, *, limits: Limits, prefix: PrefixCache, value_bytes: int) -> int:
    """Blocks of the whole cache: memory is bounded, and no request has to be given up half-way for want of room."""
    live = (-(-limits.max_seq_len // BLOCK_TOKENS) + 1) * limits.max_live_requests
    if not prefix.enabled:
        return live
    return live + (live if prefix.host_memory is None else prefix.host_memory // block_bytes(engine, value_bytes=value_bytes))


def block_bytes(engine: Path, *, value_bytes: int) -> int:
    """Bytes of one block at most, from the shapes of the model's own KV variables: [batch, heads, tokens, width] each."""
    model = openvino.Core().read_model(engine / "openvino_model.xml")
    shapes = [variable.info.data_shape for variable in model.get_variables()]
    values = sum(int(shape[1].get_length() * shape[3].get_length()) for shape in shapes if len(shape) == 4)
    return BLOCK_TOKENS * values * value_bytes
