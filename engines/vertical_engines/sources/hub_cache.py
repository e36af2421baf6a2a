"""Offline: a repository in a hub's cache on a volume, as the hub's own client fills it, read without any network."""

import os
from collections.abc import Iterator
from pathlib import Path

from huggingface_hub import snapshot_download
from huggingface_hub.errors import LocalEntryNotFoundError

from vertical_engines.contract.engine import HuggingFaceSource
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.sources.protocol import Digest, Listing, RemoteFile
from vertical_engines.sources.selection import choose

CHUNK = 8 * 1024 * 1024


class HubCacheSource:
    """Digests are the names of the cache's blobs, so that a cache that was copied badly is found out."""

    def __init__(self, source: HuggingFaceSource, *, cache: Path) -> None:
        self._source, self._cache = source, cache
        self._where = f"hub repository {source.repository}, revision {source.revision}, in the cache"

    def listing(self) -> Listing:
        source = self._source
        try:
            folder = snapshot_download(source.repository, revision=source.revision, cache_dir=self._cache, local_files_only=True)
        except LocalEntryNotFoundError:
            raise Failure(
                Reason.MODEL_NOT_FOUND,
                f"{self._where}: not there, or not whole; the cache holds {', '.join(self._repositories()) or 'no model'}: "
                "fill it with the hub's own client (hf download --cache-dir)",
            ) from None
        snapshot = Path(folder)
        files = choose(_files(snapshot), folder=source.path, patterns=source.files, where=self._where)
        return Listing(origin=self._where, files=files, revision=snapshot.name)

    def read(self, file: RemoteFile, *, into: Path) -> None:
        with Path(file.name).open("rb") as blob, into.open("ab") as partial:
            blob.seek(partial.tell())
            while chunk := blob.read(CHUNK):
                partial.write(chunk)

    def _repositories(self) -> list[str]:
        found = sorted(self._cache.glob("models--*"))[:20] if self._cache.is_dir() else []
        return [folder.name.removeprefix("models--").replace("--", "/") for folder in found]


def _files(snapshot: Path) -> Iterator[RemoteFile]:
    for parent, _, names in os.walk(snapshot):
        for name in names:
            path = Path(parent, name)
            blob = path.resolve()
            yield RemoteFile(
                path=path.relative_to(snapshot).as_posix(), name=str(blob), size=blob.stat().st_size, digest=_digest(blob.name)
            )


def _digest(blob: str) -> Digest | None:
    """A cache names blobs by sha256 (large files) or by git's sha1; one without links names them otherwise."""
    if all(character in "0123456789abcdef" for character in blob):
        return Digest("sha256", blob) if len(blob) == 64 else Digest("git-sha1", blob) if len(blob) == 40 else None
    return None
