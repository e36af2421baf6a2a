"""What the machine at hand is: instruction set and memory limit, as its kernel tells them."""

from pathlib import Path

EXTENSIONS = (("amx_tile", "AMX"), ("avx512f", "AVX-512"), ("avx2", "AVX2"), ("sse4_2", "SSE4.2"))
MEMORY_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
NO_LIMIT = 1 << 60
"""cgroup v1 says "no limit" with a number close to 2**63."""


def instruction_set(cpuinfo: str | None = None) -> str:
    """CPU model and the widest extensions it has, from the text of /proc/cpuinfo."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace") if cpuinfo is None else cpuinfo
    fields = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in text.splitlines())}
    flags = set(fields.get("flags", "").split())
    found = [name for flag, name in EXTENSIONS if flag in flags]
    return f"{fields.get('model name', 'unknown CPU')}: {', '.join(found) or 'no known extension'}"


def memory_limit(paths: tuple[Path, ...] = MEMORY_LIMITS) -> int | None:
    """Bytes that this container may use; None when nothing limits it."""
    for path in paths:
        try:
            text = path.read_text(encoding="ascii").strip()
        except OSError:
            continue
        return int(text) if text.isdecimal() and int(text) < NO_LIMIT else None
    return None
