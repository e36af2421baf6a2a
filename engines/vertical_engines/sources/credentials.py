"""Reads a model source's Secret, which is mounted as files: a hub's token, or an object store's keys."""

from dataclasses import dataclass
from pathlib import Path

from vertical_engines.contract.fetch import TOKEN_FILE
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure

ACCESS_KEY = ("accessKeyId", "AWS_ACCESS_KEY_ID")
SECRET_KEY = ("secretAccessKey", "AWS_SECRET_ACCESS_KEY")
SESSION_TOKEN = ("sessionToken", "AWS_SESSION_TOKEN")
"""Keys of an object store's Secret, in either spelling; the session token may be missing."""


@dataclass(frozen=True, repr=False)
class Credentials:
    """Of an object store; without a `repr`, so that no log can hold them."""

    access_key_id: str
    secret_access_key: str
    session_token: str = ""

    def as_config(self) -> dict[str, str]:
        """In the words of the object store's client."""
        given = {"access_key_id": self.access_key_id, "secret_access_key": self.secret_access_key, "session_token": self.session_token}
        return {name: value for name, value in given.items() if value}


def hub_token(folder: Path, *, secret: str) -> str:
    """Raises ModelSourceUnavailable when the Secret, or its key, is not there (yet)."""
    return _entry(folder, (TOKEN_FILE,)) or _missing(secret, (TOKEN_FILE,))


def store_keys(folder: Path, *, secret: str) -> Credentials:
    """Raises ModelSourceUnavailable when the Secret, or one of its two keys, is not there (yet)."""
    return Credentials(
        access_key_id=_entry(folder, ACCESS_KEY) or _missing(secret, ACCESS_KEY),
        secret_access_key=_entry(folder, SECRET_KEY) or _missing(secret, SECRET_KEY),
        session_token=_entry(folder, SESSION_TOKEN),
    )


def _entry(folder: Path, names: tuple[str, ...]) -> str:
    """The text of the first file that is there, without the newline that editors leave at its end; else empty."""
    for name in names:
        path = folder / name
        if path.is_file() and (text := path.read_text(encoding="utf-8").strip()):
            return text
    return ""


def _missing(secret: str, names: tuple[str, ...]) -> str:
    words = f"Secret {secret} of the model source is not there, or has no key {' or '.join(names)}: create it"
    raise Failure(Reason.MODEL_SOURCE_UNAVAILABLE, words)
