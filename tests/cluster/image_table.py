"""The project's images: one table; the exact files that each Dockerfile can see; a digest of them that says when to build again."""

import hashlib
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.errors import ClusterError
from tests.cluster.locations import PROJECT
from tests.cluster.shell import output

BASE_IMAGE = "docker.io/library/debian:12-slim"
"""What every Dockerfile of the project starts from."""


@dataclass(frozen=True)
class ProjectImage:
    """One image: short reference as manifests use it, Dockerfile relative to the project, seconds that a cold build takes."""

    reference: str
    dockerfile: str
    usual: float

    @property
    def full_reference(self) -> str:
        """As a node's image store lists it."""
        return f"docker.io/library/{self.reference}"


IMAGES = (
    ProjectImage("vertical-operator:dev", "operator/Dockerfile", 60),
    ProjectImage("vertical-engines-openvino:2026.4", "engines/openvino.Dockerfile", 150),
    ProjectImage("vertical-demo-models:dev", "engines/demo-models.Dockerfile", 40),
    ProjectImage("vertical-poi-matching:dev", "engines/poi-matching.Dockerfile", 40),
)


def image(reference: str) -> ProjectImage:
    """The row with that reference."""
    for row in IMAGES:
        if row.reference == reference:
            return row
    raise ClusterError(f"the project has no image {reference}", remedy=f"use one of {', '.join(row.reference for row in IMAGES)}")


def copied_paths(dockerfile: str) -> list[str]:
    """Sources of all COPY and ADD instructions that read the build context, as written.

    Raises ClusterError for a source that is a URL: what it holds can't be told from here.
    """
    joined = re.sub(r"\\\n", " ", dockerfile)
    paths: list[str] = []
    for line in joined.splitlines():
        words = line.split(maxsplit=1)
        if len(words) < 2 or words[0].upper() not in ("COPY", "ADD"):
            continue
        arguments = shlex.split(words[1])
        if any(word.startswith("--from=") for word in arguments):
            continue
        sources = [word for word in arguments if not word.startswith("--")][:-1]
        if remote := [source for source in sources if "://" in source]:
            raise ClusterError(f"the Dockerfile adds {remote[0]}", remedy="fetch it in a RUN instruction, pinned by digest")
        paths += sources
    return paths


def context_files(row: ProjectImage, *, project: Path = PROJECT) -> list[Path]:
    """Files of the build context, relative to the project: tracked ones and new ones, never what git ignores."""
    dockerfile = project / row.dockerfile
    if not dockerfile.exists():
        raise ClusterError(f"{row.dockerfile} does not exist, so {row.reference} can't be built")
    sources = [f":(top,glob){path}" if "*" in path else f":(top){path.removeprefix('./')}" for path in copied_paths(dockerfile.read_text())]
    if not sources:
        return []
    listed = output(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *sources], cwd=project)
    files = sorted({Path(name) for name in listed.split("\0") if name and (project / name).is_file()})
    if not files:
        raise ClusterError(f"{row.dockerfile} copies {' '.join(copied_paths(dockerfile.read_text()))}, and git lists no such file")
    return files


def context_digest(row: ProjectImage, *, project: Path = PROJECT) -> str:
    """sha256 (64 hex digits) of the Dockerfile and of every file that it can see, with its mode."""
    content = hashlib.sha256()
    for path in [Path(row.dockerfile), *context_files(row, project=project)]:
        file = project / path
        content.update(f"{path}\0{file.stat().st_mode & 0o111:o}\0{file.stat().st_size}\0".encode())
        content.update(file.read_bytes())
    return content.hexdigest()
