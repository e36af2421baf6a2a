"""The few tiny images that a cluster itself needs, made without any build tool: pause, busybox, the volume provisioner."""

import os
import shutil
import tempfile
from pathlib import Path

from tests.cluster.gotools import TOOLS, ensure_tools, fingerprint
from tests.cluster.image_archive import write_image
from tests.cluster.locations import cache_folder, images_folder
from tests.cluster.packages import unpacked
from tests.cluster.progress import step
from tests.cluster.shell import output

PAUSE = "localhost/vertical-pause:1"
BUSYBOX = "localhost/vertical-busybox:1"
"""A shell and the usual small programs; runs as any user."""
PROVISIONER = "localhost/vertical-local-path-provisioner:1"


def pause_image() -> Path:
    return _binary_image("pause", PAUSE)


def provisioner_image() -> Path:
    return _binary_image("local-path-provisioner", PROVISIONER)


def busybox_image() -> Path:
    """From Debian's static busybox, unpacked and not installed."""
    archive = images_folder() / "vertical-busybox.tar"
    if not archive.exists():
        package = unpacked(("busybox-static",))
        with step("Make the busybox image"), tempfile.TemporaryDirectory(dir=cache_folder()) as work:
            root = Path(work)
            for folder, mode in (("bin", 0o755), ("tmp", 0o1777), ("etc", 0o755)):
                (root / folder).mkdir(parents=True)
                (root / folder).chmod(mode)
            binary = Path(shutil.copy2(package / "bin/busybox", root / "bin"))
            for applet in output([binary, "--list"]).split():
                if applet != "busybox":
                    (root / "bin" / applet).symlink_to("busybox")
            write_image(BUSYBOX, root, archive, command=["/bin/sh"])
    return archive


def _binary_image(tool: str, reference: str) -> Path:
    binary = ensure_tools([tool]) / tool
    archive = images_folder() / f"vertical-{tool}-{fingerprint(TOOLS[tool])[:12]}.tar"
    if not archive.exists():
        with tempfile.TemporaryDirectory(dir=cache_folder()) as work:
            os.link(binary, Path(work) / tool)
            write_image(reference, Path(work), archive, entrypoint=[f"/{tool}"])
    return archive
