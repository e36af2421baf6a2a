"""A prefix, or one object, of an S3-compatible object store."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from obstore.exceptions import BaseError, PermissionDeniedError, PreconditionError, UnauthenticatedError
from obstore.store import S3Store

from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.sources.credentials import Credentials
from vertical_engines.sources.protocol import Digest, Listing, RemoteFile, Unreachable
from vertical_engines.sources.selection import choose

DEFAULT_REGION = "us-east-1"
MD5_ETAG = re.compile(r"[0-9a-f]{32}")
"""An ETag of this form is the MD5 of an object that came in one part, but for stores that encrypt with keys of their own."""
TIMEOUTS = {"timeout": "3600s", "read_timeout": "60s", "connect_timeout": "10s"}
UNKNOWN_KEYS = frozenset({"InvalidAccessKeyId", "XAdminUserNotFound", "SignatureDoesNotMatch"})
"""Some servers answer 404 to an access key that they don't know."""
PASSING = frozenset({408, 425, 429})
CHUNK = 8 * 1024 * 1024


class ObjectStoreSource:
    """Without credentials requests are not signed: for public buckets."""

    def __init__(
        self,
        uri: str,
        *,
        endpoint: str | None,
        region: str | None,
        credentials: Credentials | None,
        proxy: str | None = None,
        no_proxy: str = "",
    ) -> None:
        address = urlsplit(uri)
        self._prefix, self._signed = address.path.strip("/"), credentials is not None
        self._place = f"{uri} at {endpoint}" if endpoint else uri
        config: Any = {"region": region or DEFAULT_REGION}
        config |= {"endpoint": endpoint} if endpoint else {}
        config |= credentials.as_config() if credentials else {"skip_signature": True}
        client: Any = {
            "allow_http": (endpoint or "").startswith("http://"),
            "timeout": "3600s",
            "read_timeout": "60s",
            "connect_timeout": "10s",
        }
        client |= {"proxy_url": proxy, "proxy_excludes": no_proxy} if proxy else {}
        retries: Any = {"max_retries": 2, "retry_timeout": timedelta(seconds=20)}
        self._store = S3Store(address.netloc, config=config, client_options=client, retry_config=retries)

    def listing(self) -> Listing:
        try:
            found = [item for page in self._store.list(self._prefix or None) for item in page]
            if not found and self._prefix:
                found = [self._store.head(self._prefix)]
        except (BaseError, FileNotFoundError) as error:
            raise self._translated(error, name=self._prefix) from error
        named = [
            RemoteFile(
                path=self._relative(item["path"]),
                name=item["path"],
                size=item["size"],
                digest=_digest(item["e_tag"]),
                version=item["e_tag"],
            )
            for item in found
            if not item["path"].endswith("/")
        ]
        return Listing(origin=self._place, files=choose(named, folder=None, patterns=None, where=self._place))

    def read(self, file: RemoteFile, *, into: Path) -> None:
        with into.open("ab") as partial:
            if (start := partial.tell()) >= file.size:
                return
            try:
                options: Any = {"range": (start, file.size)} | ({"if_match": file.version} if file.version else {})
                for chunk in self._store.get(file.name, options=options).stream(min_chunk_size=CHUNK):
                    partial.write(chunk)
            except (BaseError, FileNotFoundError) as error:
                raise self._translated(error, name=file.name) from error

    def _relative(self, name: str) -> str:
        return name.removeprefix(f"{self._prefix}/") if name != self._prefix else name.rpartition("/")[2]

    def _translated(self, error: Exception, *, name: str = "") -> Failure | Unreachable:
        """Of the server's words only status and code are kept: the rest holds whole requests."""
        status, code = _answer(error)
        said = f"{status} {code}".strip()
        if isinstance(error, PermissionDeniedError | UnauthenticatedError) or status in (401, 403) or code in UNKNOWN_KEYS:
            keys = "the keys in the Secret were used" if self._signed else "no keys were used: set secretRef"
            return Failure(Reason.MODEL_ACCESS_DENIED, f"{self._place}: the store refuses access: {said} ({keys})")
        if isinstance(error, PreconditionError) or status == 412:
            return Failure(Reason.MODEL_SOURCE_MOVED, f"{self._place}: {name} was changed while it was fetched: finish the upload first")
        if code == "NoSuchBucket":
            return Failure(Reason.MODEL_NOT_FOUND, f"{self._place}: there is no such bucket")
        if isinstance(error, FileNotFoundError) or status == 404:
            return Failure(Reason.MODEL_NOT_FOUND, f"{self._place}: {name or 'the prefix'} is not there")
        if 300 <= status < 500 and status not in PASSING:
            return Failure(Reason.MODEL_SOURCE_UNAVAILABLE, f"{self._place}: the store answered {said}; check endpoint and region")
        return Unreachable(f"the object store answered {said}" if status else f"the object store at {self._place} can't be reached")


def _answer(error: Exception) -> tuple[int, str]:
    """Status and S3's error code, from the text of a failure; 0 and empty when the server said nothing."""
    status, code = re.search(r"status code: (\d{3})", str(error)), re.search(r"<Code>(\w{1,64})</Code>", str(error))
    return int(status[1]) if status else 0, code[1] if code else ""


def _digest(etag: str | None) -> Digest | None:
    plain = (etag or "").strip('"')
    return Digest("md5", plain) if MD5_ETAG.fullmatch(plain) else None
