"""Starts a program as pid 1 of namespaces of its own: what happens in them ends with it, and is not seen outside."""

import time
from collections.abc import Sequence
from pathlib import Path

from tests.cluster.errors import ClusterError
from tests.cluster.locations import PROJECT
from tests.cluster.processes import Process, start_detached

_DEADLINE = 10.0


def start_unshared(argv: Sequence[str], *, log: Path, path: str) -> Process:
    """Run `argv` in new mount, network, pid, uts and ipc namespaces, with `path` as PATH; its process, as seen from here.

    Kill that one to end everything: `unshare` around it ends with it. Raises ClusterError when it can't be started.
    """
    around = ["unshare", "--mount", "--net", "--pid", "--uts", "--ipc", "--fork", "--kill-child", "--mount-proc"]
    outer = start_detached([*around, *argv], log=log, env={"PATH": path}, cwd=PROJECT)
    children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children")
    deadline = time.monotonic() + _DEADLINE
    while not (outer.alive() and children.read_text().split()):
        if time.monotonic() > deadline or not outer.alive():
            raise ClusterError(f"unshare ended: {log.read_text()[-2000:]}", remedy="run as root, with CAP_SYS_ADMIN")
        time.sleep(0.02)
    return Process.of(int(children.read_text().split()[0]))
