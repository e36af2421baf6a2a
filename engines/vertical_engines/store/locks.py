"""One lock a key, between processes and pods: flock on `<store>/.locks/<key>`, which ends with its holder however that ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vertical_engines.progress import Say


def _still_named(descriptor: int, path: Path) -> bool:
    """A holder may have unlinked the file while we waited for it: then our lock is on a file that nobody else will find."""
    try:
        named = path.stat()
    except FileNotFoundError:
        return False
    held = os.fstat(descriptor)
    return (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)


def _open(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o664)


@contextmanager
def held(path: Path, *, say: Say) -> Iterator[None]:
    """Hold the lock; waits as long as need be, since the caller's deadline is the Job's."""
    while True:
        descriptor = _open(path)
        try:
            if not _try(descriptor):
                say(f"another process works on engine {path.name[:10]}: waiting for it")
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _still_named(descriptor, path):
                yield
                return
        finally:
            os.close(descriptor)


@contextmanager
def held_if_free(path: Path) -> Iterator[bool]:
    """Hold the lock if nobody does; yields whether it is held."""
    descriptor = _open(path)
    try:
        yield _try(descriptor) and _still_named(descriptor, path)
    finally:
        os.close(descriptor)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
