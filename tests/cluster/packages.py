"""What the machine must have: programs installed by apt, and container runtimes unpacked from Debian packages into the cache.

containerd, runc and the CNI plugins are never installed: unpacked beside everything else, they can't start a service, replace
the ones of a Docker installation, or be found by anybody but the cluster.
"""

import os
import shutil
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tests.cluster.errors import ClusterError
from tests.cluster.locations import cache_folder
from tests.cluster.progress import step
from tests.cluster.shell import output

PACKAGE_OF = {
    "iptables": "iptables",
    "conntrack": "conntrack",
    "socat": "socat",
    "openssl": "openssl",
    "ip": "iproute2",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "mount": "mount",
    "debootstrap": "debootstrap",
    "buildah": "buildah",
}
NODE_COMMANDS = ("iptables", "conntrack", "socat", "openssl", "ip", "unshare", "nsenter", "mount")
IMAGE_COMMANDS = ("debootstrap", "buildah")
RUNTIME_PACKAGES = ("containerd", "runc", "containernetworking-plugins")
_QUIET = {"DEBIAN_FRONTEND": "noninteractive"}
_LOCK = ["-o", "DPkg::Lock::Timeout=300"]
"""Seconds to wait for another apt."""


def ensure_commands(commands: Iterable[str]) -> None:
    """Install the packages of the commands that are missing, and only those."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    missing = sorted({PACKAGE_OF[command] for command in commands if shutil.which(command, path=path) is None})
    if missing:
        install(missing)


def install(packages: list[str]) -> None:
    """apt-get install, with a list refreshed once."""
    require_apt(packages)
    with step(f"Install {' '.join(packages)} by apt", usual=15):
        refresh()
        output(["apt-get", "install", "-y", "-q", "--no-install-recommends", *_LOCK, *packages], env=_QUIET)


def runtime_folder() -> Path:
    """Root folder with usr/bin/containerd, usr/sbin/runc and usr/lib/cni."""
    return unpacked(RUNTIME_PACKAGES)


def unpacked(packages: tuple[str, ...]) -> Path:
    """Folder of the cache with the files of Debian packages, each unpacked on first use; none is installed."""
    root = cache_folder("debian", "root")
    missing = [package for package in packages if not (root.parent / package).exists()]
    if missing:
        require_apt(missing)
        with step(f"Unpack {', '.join(missing)} from Debian", usual=5):
            refresh()
            with tempfile.TemporaryDirectory(dir=cache_folder()) as work:
                Path(work).chmod(0o755)  # apt fetches as a user of its own
                output(["apt-get", "download", "-q", *missing], cwd=Path(work), env=_QUIET)
                for package in missing:
                    [archive] = Path(work).glob(f"{package}_*.deb")
                    output(["dpkg-deb", "-x", archive, root])
                    (root.parent / package).write_text(f"{archive.name}\n")
    return root


def runtime_path() -> str:
    """Value for PATH that finds the unpacked container runtime first."""
    root = runtime_folder()
    return os.pathsep.join([str(root / "usr/bin"), str(root / "usr/sbin"), os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


@cache
def refresh() -> None:
    output(["apt-get", "update", "-q", *_LOCK], env=_QUIET, remedy="check the machine's connection to its Debian mirror")


def require_apt(packages: Iterable[str]) -> None:
    """Raise ClusterError where apt can't be used."""
    wanted = " ".join(packages)
    if shutil.which("apt-get") is None:
        raise ClusterError(
            f"missing: {wanted}; and there is no apt-get", remedy="use Debian 12, or run a Docker engine and --provider kind"
        )
    if os.geteuid() != 0:
        raise ClusterError(f"missing: {wanted}; only root can install", remedy=f"run as root, or: sudo apt-get install {wanted}")
