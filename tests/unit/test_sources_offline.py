"""A hub's cache on a volume, as the hub's own client lays it out, read without any network."""

import hashlib
from pathlib import Path

import pytest
from huggingface_hub import snapshot_download

from tests.support.hub_server import Hub, serving
from vertical_engines.contract.engine import HuggingFaceSource
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.sources.download import fetch_model
from vertical_engines.sources.hub_cache import HubCacheSource

WEIGHTS = bytes(range(256)) * 20
FILES = {"config.json": b"{}", "model.safetensors": WEIGHTS}


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Filled by the hub's own client; then the hub is gone."""
    folder = tmp_path / "cache"
    with serving(Hub()) as hub:
        hub.commit(FILES)
        snapshot_download("org/small", cache_dir=folder, endpoint=hub.endpoint, token=False)
    return folder


def fetch(cache: Path, folder: Path, *, repository: str = "org/small", revision: str = "main") -> str | None:
    source = HubCacheSource(HuggingFaceSource(repository=repository, revision=revision), cache=cache)
    return fetch_model(source, folder=folder, say=lambda _line: None, patience=0.1).revision


def test_a_cache_gives_the_files_and_the_commit_of_a_branch(cache: Path, tmp_path: Path) -> None:
    commit = fetch(cache, tmp_path / "model")
    assert {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()} == FILES
    assert (cache / "models--org--small" / "refs" / "main").read_text() == commit
    assert fetch(cache, tmp_path / "by-commit", revision=commit or "") == commit


def test_a_model_that_is_not_in_the_cache_is_answered_with_what_is(cache: Path, tmp_path: Path) -> None:
    for asked in ({"repository": "org/other"}, {"revision": "v2"}):
        with pytest.raises(Failure) as caught:
            fetch(cache, tmp_path / "model", **asked)
        assert caught.value.reason is Reason.MODEL_NOT_FOUND
        assert "org/small" in caught.value.message


@pytest.mark.parametrize("name", FILES)
def test_a_cache_that_was_copied_badly_is_found_out(cache: Path, tmp_path: Path, name: str) -> None:
    (found,) = (cache / "models--org--small" / "snapshots").glob(f"*/{name}")
    blob = found.resolve()
    content = blob.read_bytes()
    blob.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    with pytest.raises(Failure, match="damaged"):
        fetch(cache, tmp_path / "model")


def test_a_cache_that_lacks_a_file_is_not_whole(cache: Path, tmp_path: Path) -> None:
    repository = cache / "models--org--small"
    (repository / "blobs" / hashlib.sha256(WEIGHTS).hexdigest()).unlink()
    with pytest.raises(Failure, match="not whole"):
        fetch(cache, tmp_path / "model")
