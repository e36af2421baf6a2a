"""How many callers are connected to a port of this pod, from the kernel's own table: no privilege is needed."""

from pathlib import Path

ESTABLISHED = "01"
LOOPBACK_V4 = "7F"
"""127.0.0.0/8 is the last byte of the little-endian word."""
LOOPBACK_V6 = "00000000000000000000000001000000"
MAPPED_V4 = "0000000000000000FFFF0000"


def count_connections(port: int, *, tables: tuple[Path, ...] = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))) -> int:
    """Established connections to a local port from anywhere but the loopback."""
    return sum(_count(table.read_text(encoding="ascii"), port) for table in tables if table.exists())


def _count(table: str, port: int) -> int:
    rows = (line.split() for line in table.splitlines()[1:])
    return sum(1 for row in rows if len(row) > 3 and row[3] == ESTABLISHED and _port(row[1]) == port and not _is_loopback(row[2]))


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)


def _is_loopback(address: str) -> bool:
    host = address.rpartition(":")[0]
    v4 = len(host) == 8 or host.startswith(MAPPED_V4)
    return host == LOOPBACK_V6 or (v4 and host.endswith(LOOPBACK_V4))
