"""The engine store on a mounted volume: staged in `.tmp`, renamed into place, manifest written last."""

import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

from vertical_engines.contract.manifest import MANIFEST_NAME, Manifest, StoreUsage
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.progress import Say
from vertical_engines.store import locks
from vertical_engines.store.durable import sync_file, sync_tree, write_durably
from vertical_engines.store.failures import EngineCorrupt, EngineMissing, free_bytes, storage_errors, store_full, store_unavailable
from vertical_engines.store.reading import open_engine

KEY = re.compile(r"[0-9a-f]{64}")


class VolumeStore:
    """`<root>/<key>/` are engines, `<root>/.tmp/<key>-<random>/` builds under way, `<root>/.locks/<key>` their locks."""

    def __init__(self, root: Path, *, say: Say) -> None:
        self.root = root
        self._say = say
        self._needed = 0

    @contextmanager
    def hold(self, key: str) -> Iterator[None]:
        if not KEY.fullmatch(key):
            raise Failure(Reason.INVALID_SPEC, f"not an engine key: {key!r}; a key is 64 lower-case hex digits")
        if not self.root.is_dir():
            raise store_unavailable(root=self.root, why="no such folder")
        with ExitStack() as stack:
            # Only what taking the lock meets is about the store; what the body raises is the body's.
            with self.writing():
                stack.enter_context(locks.held(self._lock_path(key), say=self._say))
            yield

    def open(self, key: str, *, digests: bool = False) -> Manifest:
        return open_engine(self.root, key, digests=digests)

    def keys(self) -> list[str]:
        """Of everything that stands in an engine's place, sound or not."""
        with self.writing():
            if not self.root.is_dir():
                raise store_unavailable(root=self.root, why="no such folder")
            return sorted(folder.name for folder in self.root.iterdir() if KEY.fullmatch(folder.name))

    def engines(self) -> Iterator[Manifest]:
        for key in self.keys():
            with suppress(EngineMissing, EngineCorrupt):
                yield self.open(key)

    def usage(self) -> StoreUsage:
        with self.writing():
            total, _, free = shutil.disk_usage(self.root)
            return StoreUsage(total_bytes=total, free_bytes=free, engines=len(self.keys()))

    def artifact(self, key: str) -> None:
        """A folder on a volume has no address."""

    def leftovers(self) -> list[str]:
        """Keys of builds that left something in the scratch folder: dead ones, and those that are at work."""
        scratch = self.root / ".tmp"
        found = {entry.name.partition("-")[0] for entry in scratch.iterdir()} if scratch.is_dir() else set()
        return sorted(key for key in found if KEY.fullmatch(key))

    @contextmanager
    def hold_if_free(self, key: str) -> Iterator[bool]:
        """Hold a key if nobody does; yields whether it is held."""
        with locks.held_if_free(self._lock_path(key)) as held:
            yield held

    @contextmanager
    def stage(self, key: str, *, needed: int) -> Iterator[Path]:
        self._needed = needed
        with self.writing():
            self._clear_leftovers(key)
            self._discard(self.root / key)
            if (free := free_bytes(self.root)) < needed:
                raise store_full(root=self.root, needed=needed, free=free)
            staged = self.root / ".tmp" / f"{key}-{secrets.token_hex(4)}"
            staged.mkdir(parents=True)
        try:
            yield staged
        finally:
            # A kill skips this: then the next build clears it away.
            shutil.rmtree(staged, ignore_errors=True)

    def publish(self, staged: Path, manifest: Manifest) -> None:
        engine = self.root / manifest.key
        with self.writing():
            sync_tree(staged)
            staged.rename(engine)
            sync_file(self.root)
            write_durably(engine / MANIFEST_NAME, manifest.to_json())

    def remove(self, key: str) -> bool:
        with self.writing():
            engine = self.root / key
            found = engine.exists()
            self._discard(engine)
            found = self._clear_leftovers(key) or found
            self._lock_path(key).unlink(missing_ok=True)
            return found

    def clear(self, key: str) -> None:
        """Remove what dead builds of a held key left; an engine that stands under it stays."""
        with self.writing():
            self._clear_leftovers(key)

    def writing(self) -> AbstractContextManager[None]:
        return storage_errors(self.root, needed=self._needed)

    def _lock_path(self, key: str) -> Path:
        return self.root / ".locks" / key

    def _discard(self, engine: Path) -> None:
        """Take a folder out of sight in one step before its files go, so that a half-removed engine is never seen under its key."""
        if not engine.exists():
            return
        hidden = self.root / ".tmp" / f"{engine.name}-{secrets.token_hex(4)}"
        hidden.parent.mkdir(exist_ok=True)
        engine.rename(hidden)
        sync_file(self.root)
        shutil.rmtree(hidden)

    def _clear_leftovers(self, held_key: str) -> bool:
        """Remove what dead builds left: of the held key everything, of others only when nobody holds their lock.

        Returns whether the held key had any.
        """
        found = False
        scratch = self.root / ".tmp"
        for leftover in sorted(scratch.iterdir()) if scratch.is_dir() else []:
            key = leftover.name.partition("-")[0]
            if key == held_key:
                found = True
                self._clear(leftover)
            elif KEY.fullmatch(key):
                with locks.held_if_free(self._lock_path(key)) as dead:
                    if dead:
                        self._clear(leftover)
                        self._lock_path(key).unlink(missing_ok=True)
        return found

    def _clear(self, leftover: Path) -> None:
        self._say(f"removing what a dead build left: {leftover.name}")
        shutil.rmtree(leftover)
