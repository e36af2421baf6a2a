"""The engine store in a registry: against a real one. An engine that is pushed in one place is served in another, byte by byte the same."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.servers.conftest import Registry, registry_running
from tests.support.stand_in_builder import StandInBuilder, engine_request
from vertical_engines.builders.building import build_engine
from vertical_engines.cli import app
from vertical_engines.contract.build import EXIT_RETRYABLE, REQUEST_VARIABLE, BuildOutcome, BuildRequest
from vertical_engines.contract.manifest import Manifest
from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.store import STORE_VARIABLE, RegistryStoreRequest
from vertical_engines.failure import Failure
from vertical_engines.store.failures import EngineCorrupt, EngineMissing
from vertical_engines.store.reading import open_engine
from vertical_engines.store.registry import RegistryStore
from vertical_engines.store.registry_client import Repository

REQUEST = engine_request()
# bcrypt of PASSWORD: what a registry keeps of it.
PASSWORD, HASHED = "secret-of-the-test", "$2b$04$evwolqxz5cq8bfDwpDyEzuL6e.RtMVIdYdsBGEQTzmYkzM9JSKWDG"


class Place:
    """A pod's own volume, and the repository of one test."""

    def __init__(self, registry: Registry, folder: Path, *, repository: str, credentials: Path | None = None) -> None:
        self.model, self.volume = folder / "model", folder / "volume"
        for each in (self.model, self.volume):
            each.mkdir(parents=True)
        (self.model / "model.txt").write_text("weights\n")
        self.request = RegistryStoreRequest(repository=f"{registry.host}/{repository}", insecure=True, secret="engines")
        self.lines: list[str] = []
        self.credentials = credentials

    @property
    def store(self) -> RegistryStore:
        return RegistryStore(Repository(self.request, credentials=self.credentials), scratch=self.volume, say=self.lines.append)

    def build(self, request: BuildRequest = REQUEST, builder: StandInBuilder | None = None) -> Manifest:
        return build_engine(request, builder=builder or StandInBuilder(), model=self.model, store=self.store, say=self.lines.append)


@pytest.fixture
def place(registry: Registry, tmp_path: Path, request: pytest.FixtureRequest) -> Place:
    return Place(registry, tmp_path, repository=f"team/{request.node.name.lower().replace('[', '-').replace(']', '')[:60]}")


def digest(place: Place, key: str = REQUEST.key) -> str:
    artifact = place.store.artifact(key)
    assert artifact
    assert artifact.startswith(f"{place.request.repository}@sha256:")
    return artifact.partition("@")[2]


def test_an_engine_is_served_elsewhere_as_it_was_built(place: Place, tmp_path: Path) -> None:
    built = place.build()
    assert list(place.volume.iterdir()) == [], "nothing of a build stays in the pod"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    pulled = place.store.pull(digest(place), key=REQUEST.key, into=elsewhere)
    assert pulled == built
    assert open_engine(elsewhere, REQUEST.key, digests=True) == built


def test_an_engine_that_stands_there_is_not_built_again(place: Place) -> None:
    place.build()
    builder, before = StandInBuilder(), digest(place)
    place.build(builder=builder)
    assert builder.calls == []
    assert digest(place) == before


def test_a_pull_that_is_repeated_starts_afresh(place: Place, tmp_path: Path) -> None:
    place.build()
    folder = tmp_path / "pod" / REQUEST.key
    folder.mkdir(parents=True)
    (folder / "half").write_text("of an earlier try")
    place.store.pull(digest(place), key=REQUEST.key, into=tmp_path / "pod")
    assert not (folder / "half").exists()
    open_engine(tmp_path / "pod", REQUEST.key, digests=True)


def test_what_is_pinned_stays_what_it_was_when_the_tag_moves(place: Place, tmp_path: Path) -> None:
    first, pinned = place.build(), digest(place)
    other = first.model_copy(update={"build_seconds": first.build_seconds + 1})
    with place.store.stage(REQUEST.key, needed=0) as staged:
        place.store.pull(pinned, key=REQUEST.key, into=tmp_path)
        for file in first.files:
            (staged / file.path).parent.mkdir(parents=True, exist_ok=True)
            (staged / file.path).write_bytes((tmp_path / REQUEST.key / file.path).read_bytes())
        place.store.publish(staged, other)
    assert digest(place) != pinned
    assert place.store.pull(pinned, key=REQUEST.key, into=tmp_path) == first
    assert place.store.open(REQUEST.key) == other


def test_a_moved_source_is_noticed_in_a_registry_too(place: Place) -> None:
    place.build()
    (place.model / "model.txt").write_text("other weights\n")
    identity = REQUEST.identity.model_copy(update={"build": REQUEST.identity.build.model_copy(update={"max_batch_size": 2})})
    with pytest.raises(Failure) as caught:
        place.build(BuildRequest(key=identity.key(), identity=identity))
    assert caught.value.reason is Reason.MODEL_SOURCE_MOVED


def blob_file(registry: Registry, sha256: str) -> Path:
    return registry.root / "docker" / "registry" / "v2" / "blobs" / "sha256" / sha256[:2] / sha256 / "data"


def test_bytes_that_were_altered_in_the_registry_are_refused(registry: Registry, place: Place, tmp_path: Path) -> None:
    built = place.build()
    path = blob_file(registry, next(file.sha256 for file in built.files if file.path == "weights.bin"))
    content = path.read_bytes()
    path.write_bytes(b"W" + content[1:])
    try:
        with pytest.raises(Failure, match=r"arrived damaged|can.t be used"):
            place.store.pull(digest(place), key=REQUEST.key, into=tmp_path)
        with pytest.raises(EngineMissing):
            open_engine(tmp_path, REQUEST.key)
    finally:
        path.write_bytes(content)


def test_a_missing_blob_has_the_engine_built_again(registry: Registry, place: Place) -> None:
    unique = engine_request(revision="blob-of-its-own")
    built = place.build(unique)
    blob_file(registry, next(file.sha256 for file in built.files if file.path == "tokenizer/vocabulary.txt")).unlink()
    with pytest.raises(EngineCorrupt, match="lacks the blob"):
        place.store.open(unique.key, digests=True)
    builder = StandInBuilder()
    place.build(unique, builder)
    assert "convert" in builder.calls
    place.store.open(unique.key, digests=True)


def test_removing_is_done_once_and_is_fine_twice(place: Place) -> None:
    place.build()
    assert place.store.remove(REQUEST.key)
    with pytest.raises(EngineMissing):
        place.store.open(REQUEST.key)
    assert not place.store.remove(REQUEST.key)


def test_a_registry_that_keeps_everything_is_told(tmp_path: Path) -> None:
    with registry_running(tmp_path / "registry", delete=False) as keeping:
        place = Place(keeping, tmp_path, repository="engines")
        place.build()
        assert place.store.remove(REQUEST.key)
        assert "does not allow deletion" in place.lines[-1]


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Registry]:
    (tmp_path / "htpasswd").write_text(f"tester:{HASHED}\n")
    with registry_running(tmp_path / "guarded", authentication=str(tmp_path / "htpasswd")) as served:
        yield served


def credentials(registry: Registry, folder: Path, *, password: str) -> Path:
    """As `kubectl create secret docker-registry` writes it."""
    folder.mkdir()
    auth = base64.b64encode(f"tester:{password}".encode()).decode()
    path = folder / ".dockerconfigjson"
    path.write_text(json.dumps({"auths": {registry.host: {"username": "tester", "password": password, "auth": auth}}}))
    return path


def test_a_password_is_taken_from_the_secret_and_a_wrong_one_is_told_at_once(guarded: Registry, tmp_path: Path) -> None:
    known = Place(guarded, tmp_path / "a", repository="engines", credentials=credentials(guarded, tmp_path / "right", password=PASSWORD))
    known.build()
    known.store.pull(digest(known), key=REQUEST.key, into=known.volume)
    for path in (None, credentials(guarded, tmp_path / "wrong", password="guess")):
        place = Place(guarded, tmp_path / f"b{path is None}", repository="engines", credentials=path)
        with pytest.raises(Failure, match="refuses access with 401") as caught:
            place.build()
        assert (caught.value.reason, caught.value.exit_code) == (Reason.STORE_UNAVAILABLE, EXIT_RETRYABLE)
        assert "guess" not in caught.value.message


def test_a_registry_that_is_not_there_is_told(registry: Registry, tmp_path: Path) -> None:
    place = Place(Registry(1, tmp_path), tmp_path, repository="engines")
    with pytest.raises(Failure, match="can't be used") as caught:
        place.build()
    assert caught.value.reason is Reason.STORE_UNAVAILABLE


def run(place: Place, folder: Path, *arguments: str) -> tuple[int, BuildOutcome | None, str]:
    """A command as a container runs it."""
    log = folder / "termination-log"
    log.write_text("")
    environment = {STORE_VARIABLE: place.request.to_json(), REQUEST_VARIABLE: REQUEST.to_json()}
    result = CliRunner().invoke(app, [*arguments, "--store", str(place.volume), "--termination-log", str(log)], env=environment)
    return result.exit_code, BuildOutcome.from_termination_message(log.read_text()), result.output + repr(result.exception)


def test_the_commands_build_pull_and_remove(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vertical_engines.commands.build.builder_for", lambda *_: StandInBuilder())
    code, outcome, output = run(place, tmp_path, "build", "--model", str(place.model))
    assert code == 0, output
    assert outcome
    assert outcome.manifest
    assert outcome.manifest.artifact == f"{place.request.repository}@{digest(place)}"
    assert outcome.store is None
    code, _, output = run(place, tmp_path, "pull", "--key", REQUEST.key, "--reference", digest(place))
    assert code == 0, output
    assert open_engine(place.volume, REQUEST.key, digests=True).key == REQUEST.key
    code, outcome, _ = run(place, tmp_path, "pull", "--key", REQUEST.key, "--reference", f"sha256:{'0' * 64}")
    assert outcome
    assert outcome.failure
    assert (code, outcome.failure.reason) == (EXIT_RETRYABLE, Reason.ENGINE_MISSING)
    assert run(place, tmp_path, "remove", "--key", REQUEST.key)[0] == 0
    assert place.store.artifact(REQUEST.key) is None
