"""Blocks of the paged KV cache, from limits and from the memory that was granted to prefixes."""

from pathlib import Path

import numpy
import openvino
import pytest
from openvino import opset13 as op

from vertical_engines.models.kv_memory import BLOCK_TOKENS, PrefixCache, block_bytes, kv_blocks
from vertical_engines.models.limits import Limits


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """A model with two KV variables of 3 heads and width 64."""
    given = op.parameter([1, 3, 1, 64], numpy.float32)
    sinks, results = [], []
    for name in ("key", "value"):
        read = op.read_value(given, name, openvino.Type.f32, openvino.PartialShape([-1, 3, -1, 64]))
        sinks.append(op.assign(read, name))
        results.append(op.result(read))
    openvino.save_model(openvino.Model(results, sinks, [given], "kv"), tmp_path / "openvino_model.xml")
    return tmp_path


@pytest.mark.parametrize(
    ("seq", "live", "prefix", "blocks"), [(544, 8, False, 144), (544, 8, True, 288), (1, 1, False, 2), (33, 2, False, 6)]
)
def test_memory_holds_every_live_request_at_its_longest(seq: int, live: int, prefix: bool, blocks: int) -> None:
    assert kv_blocks(Path("unread"), limits=Limits(1, 1, seq, live), prefix=PrefixCache(prefix), value_bytes=2) == blocks


def test_a_block_is_measured_from_the_model(engine: Path) -> None:
    assert block_bytes(engine, value_bytes=2) == BLOCK_TOKENS * 2 * 3 * 64 * 2
    assert block_bytes(engine, value_bytes=4) == 2 * block_bytes(engine, value_bytes=2)


def test_granted_memory_bounds_what_prefixes_are_kept_in(engine: Path) -> None:
    limits, memory = Limits(512, 32, 544, 8), 10 * block_bytes(engine, value_bytes=2) + 5
    assert kv_blocks(engine, limits=limits, prefix=PrefixCache(True, memory), value_bytes=2) == 144 + 10
    assert kv_blocks(engine, limits=limits, prefix=PrefixCache(False, memory), value_bytes=2) == 144


def test_the_grant_comes_from_parameters() -> None:
    assert PrefixCache.from_parameters({}) == PrefixCache(False)
    granted = {"prefix_caching": "true", "prefix_host_memory_bytes": "1024"}
    assert PrefixCache.from_parameters(granted) == PrefixCache(True, 1024)
