"""A repository of the Hugging Face hub, or of a mirror that speaks its protocol, at one commit."""

import logging
import re
from pathlib import Path
from urllib.parse import urlsplit

from huggingface_hub import HfApi, get_hf_file_metadata, hf_hub_url
from huggingface_hub import logging as hub_logging
from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError
from huggingface_hub.file_download import http_get
from huggingface_hub.utils._headers import build_hf_headers
from huggingface_hub.utils.tqdm import disable_progress_bars

from vertical_engines.contract.engine import HuggingFaceSource
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.sources.protocol import Digest, Listing, RemoteFile, Unreachable
from vertical_engines.sources.selection import choose

COMMIT = re.compile(r"[0-9a-f]{40}")
NETWORK: tuple[type[BaseException], ...] = (*HfHubHTTPError.__bases__, OSError)
"""What the library lets through when the network fails: the base of its HTTP client's errors, whichever client it uses."""
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
REQUEST_SECONDS = 30.0


class HubSource:
    """`token` comes from a Secret and goes nowhere but into the hub's own Authorization header."""

    def __init__(self, source: HuggingFaceSource, *, endpoint: str | None, token: str | None) -> None:
        self._source, self._endpoint, self._token = source, endpoint, token
        self._api = HfApi(endpoint=endpoint, token=token or False)
        self._commit = ""
        disable_progress_bars()
        # Its warnings name signed addresses.
        hub_logging.set_verbosity(logging.ERROR)

    def listing(self) -> Listing:
        source = self._source
        try:
            info = self._api.model_info(source.repository, revision=source.revision, files_metadata=True, timeout=REQUEST_SECONDS)
        except NETWORK as error:
            raise self._translated(error) from error
        self._commit = info.sha or ""
        if not COMMIT.fullmatch(self._commit):
            raise Failure(Reason.MODEL_SOURCE_UNAVAILABLE, f"{self._where}: the answer names no commit: is the endpoint a hub?")
        if COMMIT.fullmatch(source.revision) and self._commit != source.revision:
            raise self._moved(self._commit)
        named = [
            RemoteFile(
                path=sibling.rfilename,
                name=sibling.rfilename,
                size=sibling.size or 0,
                digest=Digest("sha256", sibling.lfs.sha256) if sibling.lfs else Digest("git-sha1", sibling.blob_id or ""),
            )
            for sibling in info.siblings or ()
        ]
        files = choose(named, folder=source.path, patterns=source.files, where=self._where)
        return Listing(origin=self._where, files=files, revision=self._commit)

    def read(self, file: RemoteFile, *, into: Path) -> None:
        url = hf_hub_url(self._source.repository, file.name, revision=self._commit, endpoint=self._endpoint)
        headers = build_hf_headers(token=self._token or False)
        try:
            metadata = get_hf_file_metadata(url, token=self._token or False, endpoint=self._endpoint, timeout=REQUEST_SECONDS)
            if metadata.commit_hash != self._commit:
                raise self._moved(metadata.commit_hash or "no commit")
            if urlsplit(metadata.location).netloc != urlsplit(url).netloc:
                headers.pop("authorization", None)  # a signed address elsewhere: the token is the hub's alone
            with into.open("ab") as partial:
                http_get(metadata.location, partial, resume_size=partial.tell(), headers=headers, expected_size=file.size)
        except NETWORK as error:
            raise self._translated(error) from error

    @property
    def _where(self) -> str:
        at = f" at {self._endpoint}" if self._endpoint else ""
        return f"hub repository {self._source.repository}, revision {self._source.revision}{at}"

    def _moved(self, found: str) -> Failure:
        return Failure(
            Reason.MODEL_SOURCE_MOVED, f"{self._where} answers with commit {found} instead of {self._commit or self._source.revision}"
        )

    def _translated(self, error: BaseException) -> Failure | Unreachable:
        """The hub's own words are left out: they hold addresses that may be signed."""
        if isinstance(error, GatedRepoError):
            return self._denied("the model is gated: accept its licence at the hub with the account of the token")
        if isinstance(error, RevisionNotFoundError):
            return Failure(Reason.MODEL_NOT_FOUND, f"{self._where}: there is no such revision: name a commit, tag or branch")
        status = getattr(getattr(error, "response", None), "status_code", None)
        if isinstance(error, RepositoryNotFoundError):
            # The hub gives the same answer to whoever may not know that a repository exists.
            return self._denied("there is no such repository, or it is private")
        if status in (401, 403):
            return self._denied(f"the hub answered {status}")
        if status == 404:
            return Failure(Reason.MODEL_NOT_FOUND, f"{self._where}: a file of it is not there any more")
        if isinstance(status, int) and status not in PASSING:
            return Failure(Reason.MODEL_SOURCE_UNAVAILABLE, f"{self._where}: the hub answered {status}")
        if isinstance(error, OSError) and error.errno is not None and getattr(error, "filename", None):
            raise error  # of the local disk
        return Unreachable(f"the hub answered {status}" if status else f"{type(error).__name__}: {_host(self._endpoint)} can't be reached")

    def _denied(self, why: str) -> Failure:
        token = "the token in the Secret was sent" if self._token else "no token was sent: set tokenSecretRef"
        return Failure(Reason.MODEL_ACCESS_DENIED, f"{self._where}: {why} ({token})")


def _host(endpoint: str | None) -> str:
    return urlsplit(endpoint).netloc if endpoint else "the hub"
