"""Opening a published engine: the manifest is read and the files are held against it before anything uses them."""

import hashlib
from pathlib import Path

from pydantic import ValidationError

from vertical_engines.contract.manifest import MANIFEST_NAME, EngineFile, Manifest
from vertical_engines.store.failures import EngineCorrupt, EngineMissing, storage_errors

CHUNK = 4 * 1024 * 1024
REMEDY = "delete the Engine object to have it built again"


def file_digest(path: Path) -> str:
    """sha256 of a file, 64 hex digits."""
    seen = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            seen.update(chunk)
    return seen.hexdigest()


def engine_files(folder: Path) -> list[EngineFile]:
    """Every file below a folder except the manifest itself, sorted by path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / MANIFEST_NAME)
    return [EngineFile(path=path.relative_to(folder).as_posix(), size=path.stat().st_size, sha256=file_digest(path)) for path in files]


def open_engine(store: Path, key: str, *, digests: bool = False) -> Manifest:
    """The manifest of `<store>/<key>/`, checked: key, identity and every file's size; with `digests` its sha256 too.

    Raises EngineMissing when nothing, or nothing finished, stands there, EngineCorrupt when it differs
    from its manifest, and StoreUnavailable when it can't be read.
    """
    with storage_errors(store):
        folder = store / key
        manifest = _manifest(folder, store=store, key=key)
        fault = _fault(folder, key=key, manifest=manifest, digests=digests)
    if fault:
        raise EngineCorrupt(f"engine {key} in {store} is damaged: {fault}; {REMEDY}")
    return manifest


def _manifest(folder: Path, *, store: Path, key: str) -> Manifest:
    if not folder.is_dir():
        raise EngineMissing(f"engine {key} is not in the store {store}; its Engine object shows whether a build is under way")
    try:
        text = (folder / MANIFEST_NAME).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise EngineMissing(f"engine {key} in {store} was never finished: it has no {MANIFEST_NAME}; {REMEDY}") from None
    except UnicodeDecodeError:
        raise EngineCorrupt(f"{folder / MANIFEST_NAME} is not text; {REMEDY}") from None
    try:
        return Manifest.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the document"
        raise EngineCorrupt(f"{folder / MANIFEST_NAME} is not a manifest: {where}: {first['msg']}; {REMEDY}") from None


def _fault(folder: Path, *, key: str, manifest: Manifest, digests: bool) -> str | None:
    """What differs between a folder and its manifest, in a few words; None when nothing does."""
    if manifest.key != key or manifest.identity.key() != key:
        return f"its manifest is the one of engine {manifest.key}, whose identity gives {manifest.identity.key()}"
    for file in manifest.files:
        path = folder / file.path
        if not path.is_file():
            return f"{file.path} is missing"
        if (size := path.stat().st_size) != file.size:
            return f"{file.path} has {size} bytes instead of {file.size}"
        if digests and file_digest(path) != file.sha256:
            return f"{file.path} has another sha256 than when it was built"
    return None
