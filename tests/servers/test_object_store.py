"""Fetching from an object store: against a real S3 server, with a bad network in between where a test says so."""

import hashlib
import json
import random
import re
import socket
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.servers.conftest import KEYS, ObjectStore
from tests.servers.cutting import relaying
from vertical_engines.cli import app
from vertical_engines.contract.build import EXIT_USER_ERROR
from vertical_engines.contract.engine import ModelSource
from vertical_engines.contract.engine import ObjectStoreSource as Asked
from vertical_engines.contract.fetch import FETCH_VARIABLE, FetchedSource, FetchRequest, ModelAccess
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.sources.credentials import Credentials
from vertical_engines.sources.download import fetch_model
from vertical_engines.sources.object_store import ObjectStoreSource

WEIGHTS = random.Random(9).randbytes(20_000_000)
FILES = {"config.json": b"{}", "model.safetensors": WEIGHTS, "sub/vocabulary.txt": b"a\nb\n"}


@pytest.fixture
def bucket(object_store: ObjectStore, request: pytest.FixtureRequest) -> str:
    """A bucket of the test's own, with the model under small/v1."""
    name = f"models-{hashlib.sha256(request.node.name.encode()).hexdigest()[:10]}"
    object_store.put(name, {f"small/v1/{path}": content for path, content in FILES.items()} | {"small/v10/other.bin": b"other"})
    return name


def source(store: ObjectStore, uri: str, *, port: int = 0, keys: Credentials | None = KEYS) -> ObjectStoreSource:
    return ObjectStoreSource(uri, endpoint=f"http://127.0.0.1:{port or store.port}", region=None, credentials=keys)


def fetch(store: ObjectStore, uri: str, folder: Path, *, port: int = 0, keys: Credentials | None = KEYS) -> tuple[FetchedSource, list[str]]:
    lines: list[str] = []
    return fetch_model(source(store, uri, port=port, keys=keys), folder=folder, say=lines.append, patience=5), lines


def held(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_prefix_arrives_whole_and_verified(object_store: ObjectStore, bucket: str, tmp_path: Path) -> None:
    """A neighbour whose name merely begins alike stays where it is; what lies in folders beside safetensors is another format."""
    fetched, lines = fetch(object_store, f"s3://{bucket}/small/v1", tmp_path)
    assert held(tmp_path) == {"config.json": b"{}", "model.safetensors": WEIGHTS}
    assert {file.path: file.sha256 for file in fetched.files} == {name: hashlib.sha256(b).hexdigest() for name, b in held(tmp_path).items()}
    assert "digest of 2 of 2 by the source" in lines[-1]


def test_one_object_is_a_source_too(object_store: ObjectStore, bucket: str, tmp_path: Path) -> None:
    fetch(object_store, f"s3://{bucket}/small/v1/config.json", tmp_path)
    assert held(tmp_path) == {"config.json": b"{}"}


def test_a_broken_connection_goes_on_where_it_was(object_store: ObjectStore, bucket: str, tmp_path: Path) -> None:
    with relaying(object_store.port) as relay:
        relay.cuts, relay.after = 2, 9_000_000
        fetch(object_store, f"s3://{bucket}/small/v1", tmp_path, port=relay.port)
    assert held(tmp_path)["model.safetensors"] == WEIGHTS
    starts = {int(start) for request in relay.requests for start in re.findall(rb"(?im)^range: bytes=(\d+)-", request)}
    assert len(starts - {0}) >= 1, "some request goes on in the middle of the file"
    assert relay.passed < len(WEIGHTS) * 2, "what had arrived was not asked for again"


REFUSALS = {
    "wrong keys": ("small/v1", Credentials("tester", "wrong"), Reason.MODEL_ACCESS_DENIED, "the keys in the Secret were used"),
    "no keys": ("small/v1", None, Reason.MODEL_ACCESS_DENIED, "set secretRef"),
    "nothing there": ("small/v9", KEYS, Reason.MODEL_NOT_FOUND, "small/v9"),
}


@pytest.mark.parametrize(("path", "keys", "reason", "words"), REFUSALS.values(), ids=REFUSALS.keys())
def test_what_no_retry_cures_is_told_at_once(
    object_store: ObjectStore, bucket: str, tmp_path: Path, path: str, keys: Credentials | None, reason: Reason, words: str
) -> None:
    with pytest.raises(Failure) as caught:
        fetch(object_store, f"s3://{bucket}/{path}", tmp_path, keys=keys)
    assert (caught.value.reason, caught.value.exit_code) == (reason, EXIT_USER_ERROR)
    assert words in caught.value.message
    assert KEYS.secret_access_key not in caught.value.message


def test_a_bucket_that_does_not_exist_is_named(object_store: ObjectStore, tmp_path: Path) -> None:
    with pytest.raises(Failure, match="s3://nowhere/small") as caught:
        fetch(object_store, "s3://nowhere/small", tmp_path)
    assert caught.value.reason is Reason.MODEL_NOT_FOUND


def test_an_upload_in_the_middle_of_a_fetch_is_noticed(object_store: ObjectStore, bucket: str, tmp_path: Path) -> None:
    remote = source(object_store, f"s3://{bucket}/small/v1")
    listed = next(file for file in remote.listing().files if file.path == "config.json")
    object_store.put(bucket, {"small/v1/config.json": b"[]"})
    with pytest.raises(Failure) as caught:
        remote.read(listed, into=tmp_path / "config.json")
    assert caught.value.reason is Reason.MODEL_SOURCE_MOVED


def test_sums_beside_the_files_are_honoured(object_store: ObjectStore, bucket: str, tmp_path: Path) -> None:
    right = f"{hashlib.sha256(WEIGHTS).hexdigest()}  model.safetensors\n".encode()
    object_store.put(bucket, {"small/v1/SHA256SUMS": right})
    _, lines = fetch(object_store, f"s3://{bucket}/small/v1", tmp_path / "right")
    assert "of 1 by SHA256SUMS" in lines[-1]
    object_store.put(bucket, {"small/v1/SHA256SUMS": right.replace(right[:4], b"0000")})
    with pytest.raises(Failure, match=r"model\.safetensors has sha256") as caught:
        fetch(object_store, f"s3://{bucket}/small/v1", tmp_path / "wrong")
    assert caught.value.reason is Reason.MODEL_INVALID


def test_an_etag_that_is_no_md5_takes_two_equal_transfers(object_store: ObjectStore, bucket: str, tmp_path: Path) -> None:
    """As stores that encrypt with keys of their own have it; here the bytes below the server are changed behind its back."""
    (object_store.root / bucket / "small" / "v1" / "config.json").write_bytes(b"[]")
    fetched, lines = fetch(object_store, f"s3://{bucket}/small/v1", tmp_path)
    assert held(tmp_path)["config.json"] == b"[]"
    assert any("config.json arrived damaged" in line for line in lines)
    assert len(fetched.files) == 2


def test_a_proxy_is_asked_instead_of_the_store(tmp_path: Path) -> None:
    """Nothing answers behind it: what counts is who was asked for what."""
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        asked: list[bytes] = []

        def hear() -> None:
            client, _ = proxy.accept()
            with client:
                asked.append(client.recv(65536))
                client.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=hear, daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        remote = ObjectStoreSource("s3://models/small", endpoint="http://store.invalid", region=None, credentials=KEYS, proxy=address)
        with pytest.raises(Failure):
            remote.listing()
        thread.join(10)
    assert asked[0].startswith(b"GET http://store.invalid/models?")
    assert KEYS.secret_access_key.encode() not in asked[0]


def test_the_command_takes_its_keys_from_files(object_store: ObjectStore, bucket: str, tmp_path: Path) -> None:
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    (credentials / "AWS_ACCESS_KEY_ID").write_text(f"{KEYS.access_key_id}\n")
    (credentials / "secretAccessKey").write_text(KEYS.secret_access_key)
    request = FetchRequest(
        source=ModelSource(object_store=Asked(uri=f"s3://{bucket}/small/v1")),
        access=ModelAccess(endpoint=object_store.endpoint, secret="models"),
    )
    options = {"--model": tmp_path / "model", "--credentials": credentials, "--termination-log": tmp_path / "log", "--progress-port": 0}
    arguments = [text for option, value in options.items() for text in (option, str(value))]
    result = CliRunner().invoke(app, ["fetch", *arguments], env={FETCH_VARIABLE: request.to_json()})
    assert result.exit_code == 0, result.output
    record = json.loads((tmp_path / "model" / "source.json").read_text())
    assert [file["path"] for file in record["files"]] == ["config.json", "model.safetensors"]
    assert KEYS.secret_access_key not in result.output
