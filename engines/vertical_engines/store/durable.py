"""Writes that are on the disk when they return: fsync of files and of the folders that name them."""

import os
from pathlib import Path


def sync_file(path: Path) -> None:
    """Flush a file, or a folder's list of names, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Flush every file below a folder, then every folder, innermost first."""
    for parent, _, files in os.walk(folder, topdown=False):
        for name in files:
            sync_file(Path(parent, name))
        sync_file(Path(parent))


def write_durably(path: Path, text: str) -> None:
    """Write a file so that after a crash it is there whole or not at all."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_text(text, encoding="utf-8")
    sync_file(unfinished)
    unfinished.rename(path)
    sync_file(path.parent)
