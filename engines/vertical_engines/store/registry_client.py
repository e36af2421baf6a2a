"""One repository of an OCI registry through the oras library: what it raises, or answers, becomes a `Failure` in words."""

import hashlib
import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import oras.container
import oras.provider
import requests

from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.store import RegistryStoreRequest
from vertical_engines.failure import Failure
from vertical_engines.store.oci import MANIFEST_TYPE

CHUNK = 32 * 1024 * 1024
WHOLE = 64 * 1024 * 1024
"""Up to so many bytes a blob goes in one request: the library holds it in memory."""
CONNECT_SECONDS = 10
REFUSED = (401, 403)


class Repository:
    """`credentials` is a Docker configuration file with the registry's password; None: nobody is asked for one."""

    def __init__(self, request: RegistryStoreRequest, *, credentials: Path | None) -> None:
        self.name, self._secret = request.repository, request.secret
        logging.getLogger("oras.logger").setLevel(logging.CRITICAL)
        scheme = self._challenge(request)
        self._client = oras.provider.Registry(insecure=request.insecure, auth_backend="basic" if scheme == "basic" else "token")
        if credentials and credentials.is_file():
            with self._translated():
                self._client.auth.load_configs(self._at(), configs=[str(credentials)])
        if scheme == "basic":
            self._prove_password()

    def manifest(self, reference: str) -> tuple[str, dict[str, Any]] | None:
        """Digest (sha256:...) and content of a tag or digest; None when there is none. The digest is computed from the bytes."""
        answer = self._ask("GET", self._at(reference).manifest_url(), headers={"Accept": MANIFEST_TYPE})
        if answer.status_code == 404:
            return None
        self._expect(answer, 200)
        with self._translated():
            return f"sha256:{hashlib.sha256(answer.content).hexdigest()}", answer.json()

    def push_blob(self, path: Path, described: dict[str, Any]) -> None:
        """Upload a file unless the registry has it."""
        with self._translated():
            large = path.stat().st_size > WHOLE
            answer = self._client.upload_blob(str(path), self._at(), described, do_chunked=large, chunk_size=CHUNK)
        self._expect(answer, 200, 201, 202)

    def has_blob(self, described: dict[str, Any]) -> bool:
        with self._translated():
            return bool(self._client.blob_exists(described, self._at()))

    def push_manifest(self, document: dict[str, Any], *, tag: str) -> None:
        with self._translated():
            answer = self._client.upload_manifest(document, self._at(tag))
        self._expect(answer, 200, 201)

    def read_blob(self, digest: str) -> bytes:
        """A small one: an engine's manifest."""
        with tempfile.TemporaryDirectory(prefix="blob-") as scratch:
            path = Path(scratch, "blob")
            self.pull_blob(digest, into=path)
            return path.read_bytes()

    def pull_blob(self, digest: str, *, into: Path) -> None:
        """Download a blob; raises StoreUnavailable when other bytes arrive than the digest names."""
        with self._translated():
            self._client.download_blob(self._at(), digest, str(into))
        seen = hashlib.sha256()
        with into.open("rb") as stream:
            while chunk := stream.read(CHUNK):
                seen.update(chunk)
        if f"sha256:{seen.hexdigest()}" != digest:
            into.unlink()
            raise self._unavailable(f"{digest} arrived damaged")

    def tags(self) -> list[str]:
        answer = self._ask("GET", self._at().tags_url())
        if answer.status_code == 404:
            return []
        self._expect(answer, 200)
        with self._translated():
            return sorted(answer.json().get("tags") or [])

    def delete(self, digest: str) -> bool:
        """False when the registry does not allow it."""
        answer = self._ask("DELETE", self._at().manifest_url(digest))
        if answer.status_code in (405, 501):
            return False
        self._expect(answer, 200, 202, 404)
        return True

    def _at(self, reference: str = "") -> oras.container.Container:
        mark = "@" if reference.startswith("sha256:") else ":"
        return oras.container.Container(f"{self.name}{mark}{reference}" if reference else self.name)

    def _ask(self, method: str, url: str, *, headers: dict[str, str] | None = None) -> requests.Response:
        with self._translated():
            answer: requests.Response = self._client.do_request(f"{self._client.prefix}://{url}", method, headers=headers)
            return answer

    def _challenge(self, request: RegistryStoreRequest) -> str:
        """How the registry wants to be asked: basic, bearer, or empty for everybody."""
        prefix = "http" if request.insecure else "https"
        with self._translated():
            answer = requests.get(f"{prefix}://{self._at().registry}/v2/", timeout=CONNECT_SECONDS)
        return answer.headers.get("WWW-Authenticate", "").partition(" ")[0].lower()

    def _prove_password(self) -> None:
        """Now, since the library would try a wrong one for two minutes."""
        if not getattr(self._client.auth, "_basic_auth", None):
            raise self._refused(401)
        with self._translated():
            url = f"{self._client.prefix}://{self._at().registry}/v2/"
            headers, _ = self._client.auth.authenticate_request(requests.Response(), {})
            answer = requests.get(url, headers=headers, timeout=CONNECT_SECONDS)
        self._expect(answer, 200)

    def _expect(self, answer: requests.Response, *codes: int) -> None:
        if answer.status_code in REFUSED:
            raise self._refused(answer.status_code)
        if answer.status_code not in codes:
            raise self._unavailable(f"it answered {answer.status_code}")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (requests.RequestException, ValueError, RuntimeError) as error:
            raise self._unavailable(f"{type(error).__name__}: {str(error)[:200]}") from error

    def _refused(self, code: int) -> Failure:
        known = (
            f"Secret {self._secret} has no password for it, or a wrong one" if self._secret else "no password is known: set pullSecretRef"
        )
        return self._unavailable(f"it refuses access with {code} ({known})")

    def _unavailable(self, why: str) -> Failure:
        return Failure(Reason.STORE_UNAVAILABLE, f"the engine store {self.name} can't be used: {why}")
