"""Where the harness keeps things: one cache folder outside the checkout, with binaries, images and the state of each cluster."""

import os
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
"""The checkout."""

HERE = Path(__file__).resolve().parent


def cache_folder(*parts: str) -> Path:
    """A folder of the cache (VERTICAL_CACHE, else ~/.cache/vertical-operator), made if missing."""
    root = Path(os.environ.get("VERTICAL_CACHE") or Path.home() / ".cache" / "vertical-operator")
    folder = root.joinpath(*parts)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def bin_folder() -> Path:
    """Binaries built from pinned Go modules."""
    return cache_folder("bin")


def images_folder() -> Path:
    """Image archives (`*.tar`), each with the digest of what it was made from in its name."""
    return cache_folder("images")


def state_folder(name: str) -> Path:
    """The state of one cluster. Not made here: it exists exactly while the cluster does."""
    return cache_folder("state") / name
