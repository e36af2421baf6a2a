"""Builds an image of the project from its Dockerfile: by the machine's container engine, or by buildah without any."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.base_image import base_image
from tests.cluster.buildah import build_with_buildah, provide_base
from tests.cluster.image_table import BASE_IMAGE, ProjectImage, context_digest, context_files
from tests.cluster.locations import PROJECT, cache_folder, images_folder
from tests.cluster.progress import step
from tests.cluster.provider import container_engine
from tests.cluster.shell import output, succeeds


def build(row: ProjectImage) -> Path:
    """Archive of the image, built unless the cache has one of the same files. Older ones of the same image are removed."""
    stem = row.reference.replace(":", "-")
    archive = images_folder() / f"{stem}-{context_digest(row)[:16]}.tar"
    if not archive.exists():
        engine = container_engine()
        _provide_base(engine)
        with step(f"Build image {row.reference}", usual=row.usual), _context(row) as context:
            if engine:
                _by_engine(engine, row, context=context, archive=archive)
            else:
                build_with_buildah(row.full_reference, context / row.dockerfile, context=context, archive=archive)
        for old in images_folder().glob(f"{stem}-*.tar"):
            if old != archive:
                old.unlink(missing_ok=True)
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
        provide_base()
    elif not succeeds([engine, "image", "inspect", BASE_IMAGE]) and not succeeds([engine, "pull", BASE_IMAGE], timeout=300):
        output([engine, "load", "-i", base_image()])


def _by_engine(engine: str, row: ProjectImage, *, context: Path, archive: Path) -> None:
    partial = archive.with_suffix(".partial")
    output([engine, "build", "-t", row.full_reference, "-f", context / row.dockerfile, context], timeout=3600)
    output([engine, "save", "-o", partial, row.full_reference], timeout=600)
    partial.replace(archive)
