"""What every backend's builder does, in the order in which it is asked to."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from vertical_engines.contract.engine import EngineIdentity
from vertical_engines.contract.manifest import SmokeTest
from vertical_engines.progress import Say


@dataclass(frozen=True)
class SourceModel:
    """The model files that a builder found and can read."""

    description: str
    """For people: file name, architecture, size."""
    files: tuple[Path, ...]
    needed: int
    """Bytes that the engine will take in the store, estimated."""


class Builder(Protocol):
    """One backend. Every method raises `Failure`; none writes anywhere but into the folder it is given and the scratch folder."""

    def plan(self, identity: EngineIdentity, *, model: Path, folder: Path, scratch: Path) -> list[str]:
        """What a build would do, a command or a sentence a line, without doing it or looking at this machine."""
        ...

    def check(self, identity: EngineIdentity, *, model: Path) -> SourceModel:
        """Find the model and refuse at once what can't be built, before any time or room in the store is spent."""
        ...

    def convert(self, source: SourceModel, *, identity: EngineIdentity, folder: Path, say: Say) -> None:
        """Write the engine's files into an empty folder, and nothing else."""
        ...

    def smoke_test(self, identity: EngineIdentity, *, folder: Path, say: Say) -> SmokeTest | None:
        """Load the engine from its files as a server will, and generate from it; None where only a server can."""
        ...

    def versions(self) -> dict[str, str]:
        """Name and version of everything that takes part."""
        ...

    def gpu(self) -> str | None:
        """Product of the GPU at hand, as its driver names it; None on CPU."""
        ...
