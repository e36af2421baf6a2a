"""Holds fetched files against what their source says of them; the one place that reads them for it."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.sources.protocol import Digest

CHUNK = 4 * 1024 * 1024
SUMS_FILE = "SHA256SUMS"
"""In the format of coreutils, beside the model's files: whoever uploads can say what must arrive."""


@dataclass(frozen=True)
class Seen:
    """A file's sha256, and its digest of the kind that the source gave."""

    sha256: str
    other: str


def digests(path: Path, *, kind: str) -> Seen:
    """Both in one pass."""
    sha256 = hashlib.sha256()
    other = hashlib.md5(usedforsecurity=False) if kind == "md5" else hashlib.sha1(usedforsecurity=False)
    if kind == "git-sha1":
        other.update(f"blob {path.stat().st_size}\0".encode())
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            sha256.update(chunk)
            if kind != "sha256":
                other.update(chunk)
    return Seen(sha256.hexdigest(), other.hexdigest() if kind != "sha256" else sha256.hexdigest())


def agrees(seen: Seen, digest: Digest | None) -> bool:
    return digest is None or seen.other == digest.value


def check_sums(folder: Path, sums: Mapping[str, str]) -> int:
    """Hold files (path to sha256) against a SHA256SUMS among them; how many it names. Raises ModelInvalid for the first that differs."""
    listed = folder / SUMS_FILE
    if not listed.is_file():
        return 0
    found = 0
    for line in listed.read_text(encoding="utf-8", errors="replace").splitlines():
        wanted, _, name = line.strip().partition(" ")
        name = name.lstrip(" *").removeprefix("./")
        if not name or name not in sums:
            continue
        found += 1
        if sums[name] != wanted.lower():
            raise Failure(Reason.MODEL_INVALID, f"{name} has sha256 {sums[name]}, {SUMS_FILE} beside it says {wanted}")
    return found
