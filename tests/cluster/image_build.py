"""Builds an image of the project from its Dockerfile: by the machine's container engine, or by buildah without any."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.base_image import base_image
from tests.cluster.image_table import BASE_IMAGE, ProjectImage, context_digest, context_files
from tests.cluster.locations import PROJECT, cache_folder, images_folder
from tests.cluster.packages import IMAGE_COMMANDS, ensure_commands
from tests.cluster.pip_settings import CERTIFICATES, pip_settings
from tests.cluster.progress import step
from tests.cluster.provider import container_engine
from tests.cluster.shell import output, succeeds


def build(row: ProjectImage) -> Path:
    """Archive of the image, built unless the cache has one of the same files. Older ones of the same image are removed."""
    stem = row.reference.replace(":", "-")
    archive = images_folder() / f"{stem}-{context_digest(row)[:16]}.tar"
    if not archive.exists():
        partial = archive.with_suffix(".partial")
        partial.unlink(missing_ok=True)
        engine = container_engine()
        _provide_base(engine)
        with step(f"Build image {row.reference}", usual=row.usual), _context(row) as context:
            if engine:
                _by_engine(engine, row, context=context, archive=partial)
            else:
                _by_buildah(row, context=context, archive=partial)
        for old in images_folder().glob(f"{stem}-*.tar"):
            old.unlink()
        partial.replace(archive)
    return archive


@contextmanager
def _context(row: ProjectImage) -> Iterator[Path]:
    """A folder with exactly the files that the digest was made from."""
    with tempfile.TemporaryDirectory(dir=cache_folder(), prefix="context-") as work:
        for path in [*context_files(row), Path(row.dockerfile)]:
            target = Path(work) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / path, target)
        yield Path(work)


def _provide_base(engine: str | None) -> None:
    """The image that every Dockerfile starts from: the engine's own, pulled, or made here where it can't be pulled."""
    if engine is None:
        ensure_commands(IMAGE_COMMANDS)
        if not succeeds([*_buildah(), "inspect", "--type", "image", BASE_IMAGE]):
            output([*_buildah(), "pull", "-q", f"docker-archive:{base_image()}"])
    elif not succeeds([engine, "image", "inspect", BASE_IMAGE]) and not succeeds([engine, "pull", BASE_IMAGE], timeout=300):
        output([engine, "load", "-i", base_image()])


def _by_engine(engine: str, row: ProjectImage, *, context: Path, archive: Path) -> None:
    output([engine, "build", "-t", row.full_reference, "-f", context / row.dockerfile, context], timeout=3600)
    output([engine, "save", "-o", archive, row.full_reference], timeout=600)


def _by_buildah(row: ProjectImage, *, context: Path, archive: Path) -> None:
    buildah = _buildah()
    settings, certificates = pip_settings()
    configuration = cache_folder() / "pip.conf"
    configuration.write_text(settings)
    mounts = ["-v", f"{configuration}:/etc/pip.conf:ro"]
    mounts += ["-v", f"{certificates}:{CERTIFICATES}:ro"] if certificates else []
    words = ["bud", "--isolation", "chroot", "--pull-never", "--layers", "--format", "oci", *mounts]
    environment = {"TMPDIR": str(cache_folder("buildah", "tmp"))}  # cache mounts of RUN instructions live there
    output([*buildah, *words, "-f", context / row.dockerfile, "-t", row.full_reference, context], env=environment, timeout=3600)
    output([*buildah, "push", "-q", row.full_reference, f"oci-archive:{archive}:{row.full_reference}"], timeout=600)


def _buildah() -> list[str | Path]:
    """buildah with its store in our cache, so that nothing stays in the machine's own."""
    store = cache_folder("buildah", "store")
    kind = output(["stat", "-f", "-c", "%T", store]).strip()
    driver = "vfs" if kind.startswith("overlay") else "overlay"
    return ["buildah", "--root", store, "--runroot", cache_folder("buildah", f"run-{os.getuid()}"), "--storage-driver", driver]
