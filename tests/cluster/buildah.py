"""Builds images from ordinary Dockerfiles without any container engine, by buildah with a store in our cache."""

import os
from pathlib import Path
from typing import Literal

from tests.cluster.base_image import base_image
from tests.cluster.image_table import BASE_IMAGE
from tests.cluster.locations import cache_folder
from tests.cluster.packages import IMAGE_COMMANDS, ensure_commands
from tests.cluster.pip_settings import CERTIFICATES, pip_settings
from tests.cluster.shell import output, succeeds

Form = Literal["oci-archive", "docker-archive"]


def provide_base() -> None:
    """Install buildah where it is missing, and give it the image that every Dockerfile starts from."""
    ensure_commands(IMAGE_COMMANDS)
    if not succeeds([*_buildah(), "inspect", "--type", "image", BASE_IMAGE]):
        output([*_buildah(), "pull", "-q", f"docker-archive:{base_image()}"])


def build_with_buildah(reference: str, dockerfile: Path, *, context: Path, archive: Path, form: Form = "oci-archive") -> None:
    """Build `reference` and write it to `archive`, which appears in one step. Layers are cached as by `docker build`."""
    provide_base()
    settings, certificates = pip_settings()
    configuration = cache_folder() / "pip.conf"
    configuration.write_text(settings)
    mounts = ["-v", f"{configuration}:/etc/pip.conf:ro"]
    mounts += ["-v", f"{certificates}:{CERTIFICATES}:ro"] if certificates else []
    words = ["bud", "--isolation", "chroot", "--pull-never", "--layers", "--format", form.removesuffix("-archive"), *mounts]
    environment = {"TMPDIR": str(cache_folder("buildah", "tmp"))}  # cache mounts of RUN instructions live there
    output([*_buildah(), *words, "-f", dockerfile, "-t", reference, context], env=environment, timeout=3600)
    partial = archive.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    output([*_buildah(), "push", "-q", reference, f"{form}:{partial}:{reference}"], env=environment, timeout=600)
    partial.replace(archive)


def _buildah() -> list[str | Path]:
    store = cache_folder("buildah", "store")
    kind = output(["stat", "-f", "-c", "%T", store]).strip()
    driver = "vfs" if kind.startswith("overlay") else "overlay"
    return ["buildah", "--root", store, "--runroot", cache_folder("buildah", f"run-{os.getuid()}"), "--storage-driver", driver]
