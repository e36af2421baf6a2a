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


def _lock(path: Path, *, wait: bool, say: Say | None = None) -> int | None:
    """Descriptor of the locked file; None when somebody holds it and `wait` is False."""
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o664)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if not wait:
                    os.close(descriptor)
                    return None
                if say:
                    say(f"another process works on engine {path.name[:10]}: waiting for it")
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        except BaseException:
            os.close(descriptor)
            raise
        if _still_named(descriptor, path):
            return descriptor
        os.close(descriptor)


def acquire(path: Path, *, say: Say) -> int:
    """Wait for the lock as long as need be (the caller's deadline is the Job's); closing the descriptor releases it."""
    descriptor = _lock(path, wait=True, say=say)
    assert descriptor is not None
    return descriptor


@contextmanager
def held_if_free(path: Path) -> Iterator[bool]:
    """Hold the lock if nobody does; yields whether it is held."""
    descriptor = _lock(path, wait=False)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)
