"""What an engine store can do, whatever kind it is."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from vertical_engines.contract.manifest import Manifest, StoreUsage


class EngineStore(Protocol):
    """Engines by key. Everything that writes needs the key held; reading does not.

    Every method raises `Failure` with StoreUnavailable or StoreFull when the storage itself is at fault.
    """

    def hold(self, key: str) -> AbstractContextManager[None]:
        """Hold a key against every other process that uses the store; waits for as long as another one holds it."""
        ...

    def open(self, key: str, *, digests: bool = False) -> Manifest:
        """The manifest of a published engine whose files are all there. Raises EngineMissing or EngineCorrupt."""
        ...

    def engines(self) -> Iterator[Manifest]:
        """The manifests of all published engines that can be read, by key; what is damaged is left out."""
        ...

    def usage(self) -> StoreUsage | None:
        """How full the store is; None for a kind that can't tell."""
        ...

    def artifact(self, key: str) -> str | None:
        """Where a published engine is to be had from another cluster, pinned by digest; None for a kind that has no such place."""
        ...

    def stage(self, key: str, *, needed: int) -> AbstractContextManager[Path]:
        """A new empty folder to build in, with at least `needed` bytes free; unless published, it is gone afterwards.

        What dead builds left is removed first, and so is what stands under the key: call it only when that is no engine.
        """
        ...

    def publish(self, staged: Path, manifest: Manifest) -> None:
        """Make a staged engine visible under the key of its manifest, at once and durably."""
        ...

    def remove(self, key: str) -> bool:
        """Remove an engine and everything left of its builds; False when there was nothing."""
        ...

    def writing(self) -> AbstractContextManager[None]:
        """Around writes into a staged folder: what the operating system says about the storage becomes a `Failure`."""
        ...
