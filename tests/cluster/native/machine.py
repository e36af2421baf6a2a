"""What a native cluster touches outside of its namespaces: a few sysctls that kubelet sets, and its cgroup. Both are put back."""

import json
import os
import time
from pathlib import Path

from tests.cluster.locations import cache_folder

CGROUPS = Path("/sys/fs/cgroup")
_SYSCTLS = ("vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops")
_PATIENCE = 10.0
"""Seconds that killed processes may take to leave their cgroups."""


def borrow_sysctls() -> None:
    """Remember them, unless a cluster that runs already did: then they are not the machine's own any more."""
    record = _record()
    if not record.exists():
        record.write_text(json.dumps({name: Path("/proc/sys", name).read_text().strip() for name in _SYSCTLS}))


def return_sysctls() -> None:
    """Put them back. To be called when the state of a cluster is gone; nothing happens while another one is there."""
    record = _record()
    if record.exists() and not any(path.is_dir() for path in record.parent.iterdir()):
        for name, value in json.loads(record.read_text()).items():
            Path("/proc/sys", name).write_text(value)
        record.unlink()


def _record() -> Path:
    return cache_folder("state") / "sysctls.json"


def hierarchies() -> list[Path]:
    """Roots of the cgroup trees that hold controllers: one for version 2, one per controller for version 1."""
    if (CGROUPS / "cgroup.controllers").exists():
        return [CGROUPS]
    return [path for path in CGROUPS.iterdir() if os.path.ismount(path) and path.name != "unified"]


def make_cgroup(name: str) -> None:
    """A cgroup in every hierarchy, with all controllers."""
    for root in hierarchies():
        folder = root / name
        folder.mkdir(exist_ok=True)
        if (root / "cgroup.controllers").exists():
            wanted = " ".join(f"+{controller}" for controller in (root / "cgroup.controllers").read_text().split())
            (root / "cgroup.subtree_control").write_text(wanted)
            (folder / "cgroup.subtree_control").write_text(wanted)
        for limit in ("cpuset.cpus", "cpuset.mems"):
            if (root / limit).exists() and (folder / limit).exists():  # version 1 starts with none, and then nothing can join
                (folder / limit).write_text((root / limit).read_text())


def remove_cgroup(name: str) -> None:
    """Remove the cgroup and everything below it, once its processes are gone."""
    deadline = time.monotonic() + _PATIENCE
    for folder in [root / name for root in (CGROUPS, *CGROUPS.iterdir())]:  # the runtime makes some in trees without controllers, too
        while folder.exists():
            for path, _, _ in os.walk(folder, topdown=False):
                try:
                    Path(path).rmdir()
                except OSError:
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.05)
