"""The commands `store list`, `verify` and `prune`: what stands in a store on a volume, whether it is whole, what nobody names."""

import json
import sys
from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path

from vertical_engines.contract.manifest import limits_text
from vertical_engines.failure import Failure
from vertical_engines.progress import megabytes
from vertical_engines.store.volume import KEY, VolumeStore

DAMAGED = 1
"""Exit code: something is not as it was published."""
BAD_INPUT = 2


@dataclass(frozen=True)
class Entry:
    """One engine, or what stands in the place of one."""

    key: str
    state: str
    """ok, or what is wrong."""
    size: int = 0
    """Bytes on the volume."""
    built_at: str = ""
    toolchain: str = ""
    limits: str = ""
    source_revision: str = ""


def run_list(store: Path, *, as_json: bool) -> int:
    """Every engine, checked by names and sizes only."""
    return _show(store, keys=None, digests=False, as_json=as_json)


def run_verify(store: Path, *, keys: Collection[str], as_json: bool) -> int:
    """Every engine, or those of the keys, with every byte read; exit code 1 when one is damaged or missing."""
    return _show(store, keys=keys or None, digests=True, as_json=as_json)


def run_prune(store: Path, *, keep: Collection[str], keep_nothing: bool, yes: bool) -> int:
    """Remove engines whose key is not to be kept, and leftovers of dead builds; without `yes` only say so.

    An empty list of keys is refused unless it is meant: it is what a failed `kubectl get engines` gives.
    """
    if unknown := [key for key in keep if not KEY.fullmatch(key)]:
        return _refuse(f"--keep {unknown[0]!r} is no engine key: 64 lower-case hex digits, as in spec.key of an Engine")
    if not keep and not keep_nothing:
        return _refuse("name the keys of every Engine that uses this store with --keep, or say --keep-nothing")
    volume = VolumeStore(store, say=_say)
    try:
        _prune(volume, keep=frozenset(keep), yes=yes)
    except Failure as failure:
        _say(f"{failure.reason.value}: {failure.message}")
        return failure.exit_code
    return 0


def _prune(volume: VolumeStore, *, keep: frozenset[str], yes: bool) -> None:
    standing = set(volume.keys())
    freed = 0
    for key in sorted((standing - keep) | set(volume.leftovers())):
        with volume.hold_if_free(key) as held:
            if not held:
                _say(f"{key}: left alone, a build is at work on it")
                continue
            unwanted = key in standing and key not in keep
            size = _bytes(volume.root / key) if unwanted else 0
            what = f"engine of {megabytes(size)}" if unwanted else "leftovers of a dead build"
            _say(f"{key}: {what}{' removed' if yes else ''}")
            freed += size
            if yes:
                volume.remove(key) if unwanted else volume.clear(key)
    _say(f"{megabytes(freed)} {'freed' if yes else 'could be freed: say --yes to remove that'}; {len(standing & keep)} engines kept")


def _show(store: Path, *, keys: Collection[str] | None, digests: bool, as_json: bool) -> int:
    volume = VolumeStore(store, say=_say)
    try:
        entries = [_entry(volume, key, digests=digests) for key in (sorted(keys) if keys else volume.keys())]
        usage = volume.usage()
    except Failure as failure:
        _say(f"{failure.reason.value}: {failure.message}")
        return failure.exit_code
    if as_json:
        content = {"engines": [asdict(entry) for entry in entries], "store": usage.model_dump(by_alias=True)}
        sys.stdout.write(json.dumps(content, indent=2) + "\n")
    else:
        for entry in entries:
            sys.stdout.write(
                f"{entry.key}  {megabytes(entry.size):>12}  {entry.built_at:20}  {entry.toolchain}  {entry.limits}  {entry.state}\n"
            )
        sys.stdout.write(f"{len(entries)} engines; {megabytes(usage.free_bytes)} of {megabytes(usage.total_bytes)} free\n")
    return DAMAGED if any(entry.state != "ok" for entry in entries) else 0


def _entry(volume: VolumeStore, key: str, *, digests: bool) -> Entry:
    folder = volume.root / key
    size = _bytes(folder)
    try:
        manifest = volume.open(key, digests=digests)
    except Failure as failure:
        return Entry(key, f"{failure.reason.value}: {failure.message}", size=size)
    toolchain = manifest.identity.toolchain
    return Entry(
        key,
        "ok",
        size=size,
        built_at=manifest.built_at,
        toolchain=f"{toolchain.backend} {toolchain.release}",
        limits=limits_text(manifest.identity.build),
        source_revision=manifest.source_revision or "",
    )


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else 0


def _refuse(text: str) -> int:
    sys.stderr.write(f"vertical-engines store: {text}\n")
    return BAD_INPUT


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
