"""Makes the base image `debian:12-slim` from the distribution's own packages, for machines that can't pull it."""

import shutil
import tempfile
from pathlib import Path

from tests.cluster.image_archive import write_image
from tests.cluster.image_table import BASE_IMAGE
from tests.cluster.locations import cache_folder, images_folder
from tests.cluster.packages import IMAGE_COMMANDS, ensure_commands
from tests.cluster.progress import step
from tests.cluster.shell import output

_NOT_NEEDED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "var/lib/apt/lists", "var/cache/apt", "var/log")

_DOCKER_CLEAN = """\
// An image keeps neither packages nor indexes: the same settings as the official one has.
DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/archives/partial/*.deb /var/cache/apt/*.bin || true"; };
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Acquire::Languages "none";
"""


def base_image() -> Path:
    """Archive of the base image, made on first use. Needs root."""
    archive = images_folder() / "debian-12-slim.tar"
    if not archive.exists():
        ensure_commands(IMAGE_COMMANDS)
        with step("Make the base image debian:12-slim by debootstrap", usual=60), tempfile.TemporaryDirectory(dir=cache_folder()) as work:
            root = Path(work) / "rootfs"
            output(["debootstrap", "--variant=minbase", "bookworm", root], timeout=1800, remedy="the Debian mirror must be reachable")
            for folder in _NOT_NEEDED:
                shutil.rmtree(root / folder, ignore_errors=True)
                (root / folder).mkdir(parents=True)
            (root / "etc/apt/apt.conf.d/docker-clean").write_text(_DOCKER_CLEAN)
            write_image(BASE_IMAGE, root, archive, keep_owners=True)
    return archive
