"""What goes wrong with an engine store, and the translation of the operating system's words for it."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.progress import megabytes

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
UNAVAILABLE = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO, errno.ESTALE, errno.ENOTCONN, errno.ENODEV, errno.ENOTDIR}
    | {errno.EHOSTDOWN, errno.ETIMEDOUT, errno.ENOLCK, errno.EOPNOTSUPP}
)
"""The second line is what network file systems add: a server that is gone, or one that knows no locks."""


class EngineMissing(Failure):
    """No engine is published under that key."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.ENGINE_MISSING, message)


class EngineCorrupt(Failure):
    """Something stands under that key, and it is not the engine that was published."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.ENGINE_CORRUPT, message)


def store_full(*, root: Path, needed: int, free: int) -> Failure:
    """`needed` and `free` in bytes."""
    return Failure(
        Reason.STORE_FULL,
        f"the engine store has no room: about {megabytes(needed)} needed, {megabytes(free)} free on {root}; "
        "enlarge the claim or delete services that no longer serve",
    )


def store_unavailable(*, root: Path, why: str) -> Failure:
    return Failure(
        Reason.STORE_UNAVAILABLE,
        f"the engine store at {root} can't be used: {why}; the claim must be mounted read-write and writable for group 1000 (fsGroup)",
    )


@contextmanager
def storage_errors(root: Path, *, needed: int = 0) -> Iterator[None]:
    """Raise `Failure` for what the operating system says about the store; `needed` bytes go into the message of a full one.

    Errors about files elsewhere (the model's, say) pass through.
    """
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise store_full(root=root, needed=needed, free=free_bytes(root)) from error
        if error.errno in UNAVAILABLE and (error.filename is None or Path(os.fsdecode(error.filename)).is_relative_to(root)):
            raise store_unavailable(root=root, why=f"{error.strerror}: {error.filename or root}") from error
        raise


def free_bytes(root: Path) -> int:
    """Bytes that an unprivileged process can still write to the volume of a folder."""
    volume = os.statvfs(root)
    return volume.f_bavail * volume.f_frsize
