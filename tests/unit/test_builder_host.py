"""What the kernel tells about the machine: instruction set and memory limit."""

from pathlib import Path

import pytest

from vertical_engines.builders.host import instruction_set, memory_limit

CORE = "processor\t: {number}\nmodel name\t: Some CPU\nflags\t\t: fpu sse4_2 avx2 avx512f\n"
CPUINFO = "\n".join(CORE.format(number=number) for number in range(2))


def test_the_widest_extensions_are_named() -> None:
    assert instruction_set(CPUINFO) == "Some CPU: AVX-512, AVX2, SSE4.2"
    assert instruction_set("") == "unknown CPU: no known extension"
    assert ":" in instruction_set()


@pytest.mark.parametrize(("text", "limit"), [("536870912\n", 536_870_912), ("max\n", None), ("9223372036854771712\n", None), (None, None)])
def test_a_limit_is_read_in_either_form_of_cgroups(tmp_path: Path, text: str | None, limit: int | None) -> None:
    path = tmp_path / "memory.max"
    if text:
        path.write_text(text)
    assert memory_limit((tmp_path / "absent", path)) == limit
