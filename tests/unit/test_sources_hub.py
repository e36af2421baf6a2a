"""Fetching from a hub: the real client against a server of our own that speaks the hub's protocol. The real hub is out of reach here."""

import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import close_session
from typer.testing import CliRunner

from tests.support.hub_server import Hub, serving
from vertical_engines.cli import app
from vertical_engines.contract.build import EXIT_RETRYABLE, EXIT_USER_ERROR, BuildOutcome
from vertical_engines.contract.engine import HuggingFaceSource, ModelSource
from vertical_engines.contract.fetch import FETCH_VARIABLE, FetchedSource, FetchRequest, ModelAccess
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.sources.download import fetch_model
from vertical_engines.sources.hub import HubSource

WEIGHTS = random.Random(7).randbytes(300_000)
FILES = {
    "config.json": b"{}",
    "model.safetensors": WEIGHTS,
    "pytorch_model.bin": WEIGHTS,
    "README.md": b"# Small",
    "onnx/model.onnx": WEIGHTS,
}
TOKEN = "hub-token-of-the-test"


@pytest.fixture
def hub() -> Iterator[Hub]:
    hub = Hub()
    hub.commit(FILES)
    with serving(hub) as served:
        yield served


def source(hub: Hub, *, revision: str = "main", token: str = "", **more: object) -> HubSource:
    wanted = HuggingFaceSource.model_validate({"repository": "org/small", "revision": revision, **more})
    return HubSource(wanted, endpoint=hub.endpoint, token=token)


def fetch(hub: Hub, folder: Path, *, patience: float = 5.0, **more: object) -> tuple[FetchedSource, list[str]]:
    lines: list[str] = []
    return fetch_model(source(hub, **more), folder=folder, say=lines.append, patience=patience), lines  # type: ignore[arg-type]


def held(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_branch_is_pinned_to_its_commit_and_one_format_of_weights_arrives(hub: Hub, tmp_path: Path) -> None:
    fetched, lines = fetch(hub, tmp_path)
    assert held(tmp_path) == {"config.json": b"{}", "model.safetensors": WEIGHTS}
    assert fetched.revision == hub.names["main"]
    assert {file.path: file.sha256 for file in fetched.files} == {name: hashlib.sha256(b).hexdigest() for name, b in held(tmp_path).items()}
    assert any(hub.names["main"] in line for line in lines)
    resolved = {address.split("/resolve/")[1].split("/")[0] for _, address, _, _ in hub.requests if "/resolve/" in address}
    assert resolved == {hub.names["main"]}, "files are read at the commit, whatever the branch does meanwhile"


def test_patterns_and_a_folder_choose_the_files(hub: Hub, tmp_path: Path) -> None:
    hub.commit({"gguf/small-q4.gguf": WEIGHTS, "gguf/small-q8.gguf": WEIGHTS[:2000], "config.json": b"{}"}, name="quantised")
    fetch(hub, tmp_path, revision="quantised", path="gguf", files=["*q8.gguf"])
    assert held(tmp_path) == {"small-q8.gguf": WEIGHTS[:2000]}


def test_a_broken_connection_goes_on_where_it_was(hub: Hub, tmp_path: Path) -> None:
    large = random.Random(8).randbytes(24_000_000)
    hub.commit({"model.safetensors": large}, name="large")
    hub.break_after, hub.breaks = 11_000_000, 1
    fetch(hub, tmp_path, revision="large")
    assert held(tmp_path)["model.safetensors"] == large
    # The client writes ten mebibytes at a time; what is less than that is asked for again.
    assert hub.ranges() == [f"bytes={10 * 2**20}-"]


def test_a_fetch_that_was_cut_off_goes_on_from_what_is_there(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors.partial").write_bytes(WEIGHTS[:123_456])
    (tmp_path / "config.json").write_bytes(b"{}")
    fetch(hub, tmp_path)
    assert held(tmp_path) == {"config.json": b"{}", "model.safetensors": WEIGHTS}
    assert hub.ranges() == ["bytes=123456-"]
    assert not any(method == "GET" and address.endswith("config.json") for method, address, _, _ in hub.requests)


def test_damage_on_the_way_is_noticed_and_cured(hub: Hub, tmp_path: Path) -> None:
    hub.damaged = 1
    _, lines = fetch(hub, tmp_path)
    assert held(tmp_path)["model.safetensors"] == WEIGHTS
    assert any("arrived damaged" in line for line in lines)


def test_damage_that_stays_is_told_and_leaves_nothing_under_the_name(hub: Hub, tmp_path: Path) -> None:
    hub.damaged = 10
    with pytest.raises(Failure) as caught:
        fetch(hub, tmp_path)
    assert caught.value.reason is Reason.MODEL_SOURCE_UNAVAILABLE
    assert "model.safetensors" not in held(tmp_path)


def test_a_hub_that_is_down_for_a_moment_costs_a_pause(hub: Hub, tmp_path: Path) -> None:
    hub.down = 1
    fetch(hub, tmp_path)
    assert held(tmp_path)["model.safetensors"] == WEIGHTS


def test_a_hub_that_stays_away_ends_in_words(hub: Hub, tmp_path: Path) -> None:
    hub.down = 1_000_000
    with pytest.raises(Failure) as caught:
        fetch(hub, tmp_path, patience=0.2)
    assert (caught.value.reason, caught.value.exit_code) == (Reason.MODEL_SOURCE_UNAVAILABLE, EXIT_RETRYABLE)
    assert "503" in caught.value.message


def test_nobody_there_ends_in_words(tmp_path: Path) -> None:
    with serving(Hub()) as gone:
        pass
    with pytest.raises(Failure) as caught:
        fetch(gone, tmp_path, patience=0.2)
    assert caught.value.reason is Reason.MODEL_SOURCE_UNAVAILABLE
    assert gone.endpoint.removeprefix("http://") in caught.value.message


REFUSALS = {
    "no such revision": ({"revision": "v9"}, {}, Reason.MODEL_NOT_FOUND, "no such revision"),
    "no token": ({}, {"token": TOKEN}, Reason.MODEL_ACCESS_DENIED, "set tokenSecretRef"),
    "wrong token": ({"token": "other"}, {"token": TOKEN}, Reason.MODEL_ACCESS_DENIED, "the token in the Secret was sent"),
    "gated": ({"token": TOKEN}, {"gated": True}, Reason.MODEL_ACCESS_DENIED, "licence"),
    "no such file": ({"files": ["*.gguf"]}, {}, Reason.MODEL_NOT_FOUND, "model.safetensors"),
    "another commit": ({}, {"answered_commit": "f" * 40}, Reason.MODEL_SOURCE_MOVED, "f" * 40),
}


@pytest.mark.parametrize(("asked", "faults", "reason", "words"), REFUSALS.values(), ids=REFUSALS.keys())
def test_what_no_retry_cures_is_told_at_once(
    hub: Hub, tmp_path: Path, asked: dict[str, object], faults: dict[str, object], reason: Reason, words: str
) -> None:
    for name, value in faults.items():
        setattr(hub, name, value)
    with pytest.raises(Failure) as caught:
        fetch(hub, tmp_path, **asked)  # type: ignore[arg-type]
    assert (caught.value.reason, caught.value.exit_code) == (reason, EXIT_USER_ERROR)
    assert words in caught.value.message
    assert TOKEN not in caught.value.message


def test_a_commit_that_the_hub_answers_with_another_one_is_an_error(hub: Hub, tmp_path: Path) -> None:
    hub.names["a" * 40] = hub.names["main"]
    with pytest.raises(Failure) as caught:
        fetch(hub, tmp_path, revision="a" * 40)
    assert caught.value.reason is Reason.MODEL_SOURCE_MOVED


def test_the_token_goes_to_the_hub_and_nowhere_else(hub: Hub, tmp_path: Path) -> None:
    hub.token = TOKEN
    fetch(hub, tmp_path, token=TOKEN)
    sent = {(address.split("/")[2].split(":")[0], bool(given)) for _, address, _, given in hub.requests}
    assert sent == {("127.0.0.1", True), ("localhost", False)}


def test_a_proxy_is_asked_instead_of_the_hub(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server of the test takes the part of the proxy: a hub of that name exists nowhere."""
    monkeypatch.setenv("HTTP_PROXY", hub.endpoint)
    monkeypatch.setenv("NO_PROXY", "localhost")
    hub.endpoint = "http://hub.invalid"
    close_session()  # the client reads its environment once a process
    try:
        fetch(hub, tmp_path)
    finally:
        close_session()
    assert held(tmp_path)["model.safetensors"] == WEIGHTS
    assert {address.split("/")[2].split(":")[0] for _, address, _, _ in hub.requests} == {"hub.invalid", "localhost"}


def run(hub: Hub, folder: Path, *, mounted: str | None = None, **access: object) -> tuple[int, BuildOutcome | None, str]:
    """The command as a container runs it; `mounted` is the token in the mounted Secret."""
    credentials, log = folder / "credentials", folder / "termination-log"
    credentials.mkdir()
    log.touch()
    if mounted:
        (credentials / "token").write_text(f"{mounted}\n")
    request = FetchRequest(
        source=ModelSource(hugging_face=HuggingFaceSource(repository="org/small", revision="main")),
        access=ModelAccess.model_validate({"endpoint": hub.endpoint, **access}),
    )
    options = {"--model": folder / "model", "--credentials": credentials, "--termination-log": log, "--progress-port": 0}
    arguments = [text for option, value in options.items() for text in (option, str(value))]
    result = CliRunner().invoke(app, ["fetch", *arguments], env={FETCH_VARIABLE: request.to_json()})
    return result.exit_code, BuildOutcome.from_termination_message(log.read_text()), result.output


def test_the_command_reads_the_token_from_a_file_and_leaves_a_record(hub: Hub, tmp_path: Path) -> None:
    hub.token = TOKEN
    code, outcome, output = run(hub, tmp_path, mounted=TOKEN, secret="hub")
    assert (code, outcome) == (0, None), output
    record = json.loads((tmp_path / "model" / "source.json").read_text())
    assert record["revision"] == hub.names["main"]
    assert set(held(tmp_path / "model" / "files")) == {"config.json", "model.safetensors"}
    assert TOKEN not in output


def test_a_secret_that_is_not_there_yet_is_told_and_tried_again(hub: Hub, tmp_path: Path) -> None:
    code, outcome, _ = run(hub, tmp_path, secret="hub")
    assert code == EXIT_RETRYABLE
    assert outcome
    assert outcome.failure
    assert (outcome.failure.reason, "Secret hub" in outcome.failure.message) == (Reason.MODEL_SOURCE_UNAVAILABLE, True)
    assert hub.requests == []


def test_a_request_that_is_not_understood_fails_for_good(tmp_path: Path) -> None:
    log = tmp_path / "termination-log"
    log.touch()
    result = CliRunner().invoke(app, ["fetch", "--termination-log", str(log), "--progress-port", "0"], env={FETCH_VARIABLE: "{}"})
    outcome = BuildOutcome.from_termination_message(log.read_text())
    assert result.exit_code == EXIT_USER_ERROR
    assert outcome
    assert outcome.failure
    assert outcome.failure.reason is Reason.INVALID_SPEC
