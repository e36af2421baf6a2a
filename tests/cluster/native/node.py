"""Pid 1 of a native cluster: makes the node's mounts and network, then keeps its daemons running until it is killed.

Runs as `python -m tests.cluster.native.node STATE` inside fresh mount, network, pid, uts and ipc namespaces; its end ends
everything in them.
"""

import json
import os
import sys
import time
from pathlib import Path

from tests.cluster.native.addresses import GATEWAY, NODE, NODE_ADDRESS
from tests.cluster.shell import output

_BOUND = ("etcd", "kubelet", "containerd", "cni", "volumes")
"""Folders of /var/lib that live in the state folder; the rest of the machine's /var/lib is hidden."""

_RESTART_AFTER = 1.0
"""Seconds before an ended daemon is started again."""


def prepare(state: Path) -> None:
    """Mounts and network. Nothing here is seen outside of the namespaces."""
    output(["mount", "--make-rshared", "/"])
    for folder in ("/run", "/var/lib"):
        output(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", folder])
    output(["mount", "--bind", state / "log", "/var/log"])
    for name in _BOUND:
        (state / "lib" / name).mkdir(parents=True, exist_ok=True)
        Path("/var/lib", name).mkdir()
        output(["mount", "--bind", state / "lib" / name, Path("/var/lib", name)])
    output(["hostname", NODE])
    for words in (
        "link set lo up",
        "link add node0 type veth peer name node1",
        f"addr add {NODE_ADDRESS}/24 dev node0",
        "link set node0 up",
        "link set node1 up",
        f"route add default via {GATEWAY} dev node0",  # leads nowhere; kubelet and services want one
    ):
        output(["ip", *words.split()])
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


def supervise(daemons: dict[str, list[str]], *, logs: Path) -> None:
    """Start each daemon, again whenever it ends, and collect orphans. Never returns."""
    running: dict[int, str] = {}
    due = dict.fromkeys(daemons, 0.0)
    while True:
        for name in [name for name, at in due.items() if at <= time.monotonic()]:
            del due[name]
            running[start(daemons[name], log=logs / f"{name}.log")] = name
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            pid = 0
        if ended := running.pop(pid, None):
            due[ended] = time.monotonic() + _RESTART_AFTER
        if pid == 0:
            time.sleep(0.1)


def start(argv: list[str], *, log: Path) -> int:
    """Pid of a new process whose output goes to `log`; a program that is not there counts as one that ended."""
    actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    return os.posix_spawnp(argv[0], argv, os.environ, file_actions=actions, setsid=True)


def main(state: Path) -> None:
    os.chdir(state)
    prepare(state)
    supervise(json.loads((state / "daemons.json").read_text()), logs=state / "log")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
