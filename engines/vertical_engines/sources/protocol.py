"""What a remote model source can do, and the two ways in which it fails."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

DigestKind = Literal["sha256", "git-sha1", "md5"]


@dataclass(frozen=True)
class Digest:
    """What the source says a file's bytes are. `git-sha1` is git's name of a blob; `md5` an ETag that looks like one."""

    kind: DigestKind
    value: str


@dataclass(frozen=True)
class RemoteFile:
    path: str
    """Relative to the model's folder, with `/`."""
    size: int
    digest: Digest | None = None
    name: str = ""
    """How the source itself names the file."""
    version: str | None = None
    """What must not change between listing and reading (an ETag)."""


@dataclass(frozen=True)
class Listing:
    origin: str
    """For people: where the files are."""
    files: tuple[RemoteFile, ...]
    revision: str | None = None
    """Commit that the asked revision stands for, where the source has commits."""


class Unreachable(Exception):
    """The network or the server failed in a way that may pass; what was read so far stays. The text says what happened."""


class RemoteSource(Protocol):
    """Both methods raise Unreachable for what may pass within seconds, and `Failure` for everything else."""

    def listing(self) -> Listing:
        """The model's files as they are now."""
        ...

    def read(self, file: RemoteFile, *, into: Path) -> None:
        """Append to a file from where it ends until it has the listed size."""
        ...
