"""Fetches every file of a remote source into a folder: resumed where it broke off, verified, or nothing under its name."""

import time
from pathlib import Path

from vertical_engines.contract.fetch import FetchedSource
from vertical_engines.contract.manifest import EngineFile
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.progress import Say, megabytes
from vertical_engines.sources.meter import metered
from vertical_engines.sources.protocol import Listing, RemoteFile, RemoteSource, Unreachable
from vertical_engines.sources.verification import agrees, check_sums, digests
from vertical_engines.store.failures import free_bytes

PATIENCE = 600.0
"""Seconds without a single new byte after which a source counts as unavailable."""
LONGEST_PAUSE = 30.0
PARTIAL = ".partial"


def fetch_model(source: RemoteSource, *, folder: Path, say: Say, patience: float = PATIENCE, every: float = 5.0) -> FetchedSource:
    """Fill a folder, which may hold what an earlier call left. Raises `Failure`."""
    folder.mkdir(parents=True, exist_ok=True)
    listing = _listed(source, say=say, patience=patience)
    total = sum(file.size for file in listing.files)
    at = f", commit {listing.revision}" if listing.revision else ""
    say(f"{listing.origin}{at}: {len(listing.files)} files, {megabytes(total)}")
    missing = sum(file.size - _held(folder / file.path) for file in listing.files)
    if (free := free_bytes(folder)) < missing:
        raise Failure(
            Reason.MODEL_SOURCE_UNAVAILABLE,
            f"no room for the model on the node: {megabytes(missing)} needed, {megabytes(free)} free in the pod's own volume; "
            "place the build on a node with more local disk",
        )
    with metered(folder, total=total, say=say, every=every):
        files = [_fetch(source, file, path=folder / file.path, say=say, patience=patience) for file in listing.files]
    named = check_sums(folder, {file.path: file.sha256 for file in files})
    say(f"{megabytes(total)} fetched and verified{_proof(listing, named)}")
    return FetchedSource(origin=listing.origin, revision=listing.revision, files=files)


def _proof(listing: Listing, named: int) -> str:
    """What the verification rests on: a store that gives no digest must not look like one that does."""
    digested = sum(file.digest is not None for file in listing.files)
    text = f": size of all, digest of {digested} of {len(listing.files)} by the source"
    return text + (f", of {named} by SHA256SUMS" if named else "")


def _listed(source: RemoteSource, *, say: Say, patience: float) -> Listing:
    waits = _Waits(patience, say=say)
    while True:
        try:
            return source.listing()
        except Unreachable as trouble:
            waits.wait(trouble)


def _held(path: Path) -> int:
    """Bytes of a file that are there already, finished or not."""
    for candidate in (path, path.with_name(path.name + PARTIAL)):
        if candidate.is_file():
            return candidate.stat().st_size
    return 0


def _fetch(source: RemoteSource, file: RemoteFile, *, path: Path, say: Say, patience: float) -> EngineFile:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + PARTIAL)
    earlier = ""
    while True:
        if not path.is_file():
            _read(source, file, partial=partial, say=say, patience=patience)
        seen = digests(partial if partial.is_file() else path, kind=file.digest.kind if file.digest else "sha256")
        # An MD5 is only taken from an ETag, which is none where the store encrypts: then two equal transfers have to do.
        if agrees(seen, file.digest) or (file.digest and file.digest.kind == "md5" and seen.sha256 == earlier):
            if partial.is_file():
                partial.rename(path)
            return EngineFile(path=file.path, size=file.size, sha256=seen.sha256)
        partial.unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        if earlier:
            raise Failure(
                Reason.MODEL_SOURCE_UNAVAILABLE,
                f"{file.path} arrived damaged twice: its digest is not the source's; a proxy or the source itself alters it",
            )
        say(f"{file.path} arrived damaged: its digest is not the source's; fetching it again")
        earlier = seen.sha256


def _read(source: RemoteSource, file: RemoteFile, *, partial: Path, say: Say, patience: float) -> None:
    waits = _Waits(patience, say=say)
    partial.touch()
    if partial.stat().st_size > file.size:
        partial.unlink()
    while (before := _held(partial)) < file.size or not partial.exists():
        try:
            source.read(file, into=partial)
        except Unreachable as trouble:
            if _held(partial) > before:
                waits = _Waits(patience, say=say)
            waits.wait(trouble, resume_at=_held(partial))
            continue
        if (size := _held(partial)) == before:
            waits.wait(Unreachable(f"{file.path} ended after {size} of {file.size} bytes"))
        elif size > file.size:
            raise Failure(Reason.MODEL_SOURCE_MOVED, f"{file.path} has {size} bytes, {file.size} were listed: it is being changed")


class _Waits:
    """Growing pauses until patience is over."""

    def __init__(self, patience: float, *, say: Say) -> None:
        self._until, self._pause, self._say = time.monotonic() + patience, 0.5, say

    def wait(self, trouble: Unreachable, *, resume_at: int = 0) -> None:
        """Sleep, or raise ModelSourceUnavailable when it has lasted too long."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise Failure(Reason.MODEL_SOURCE_UNAVAILABLE, f"the model source is not to be had: {trouble}") from trouble
        self._pause = min(self._pause * 2, LONGEST_PAUSE, max(left, 0.01))
        going_on = f", going on at {megabytes(resume_at)}" if resume_at else ""
        self._say(f"{trouble}; again in {self._pause:.0f} s{going_on}")
        time.sleep(self._pause)
