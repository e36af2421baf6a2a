"""The commands `build` and `remove` as a container runs them: exit code, termination message, lines for people, SIGTERM."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.support.stand_in_builder import StandInBuilder, Workplace, engine_request
from vertical_engines.cli import app
from vertical_engines.contract.build import EXIT_RETRYABLE, EXIT_USER_ERROR, REQUEST_VARIABLE, BuildOutcome
from vertical_engines.contract.reasons import Reason
from vertical_engines.store.reading import open_engine

REQUEST = engine_request()


def run(workplace: Workplace, command: str, *arguments: str, request: str | None = None) -> tuple[int, BuildOutcome | None, str]:
    """Exit code, what the termination message says, and the output."""
    log = workplace.root.parent / "termination-log"
    log.write_text("")
    options = [*arguments, "--store", str(workplace.root), "--termination-log", str(log)]
    result = CliRunner().invoke(app, [command, *options], env={REQUEST_VARIABLE: request})
    return result.exit_code, BuildOutcome.from_termination_message(log.read_text()), result.output


def build(workplace: Workplace, request: str | None = REQUEST.to_json()) -> tuple[int, BuildOutcome | None, str]:
    return run(workplace, "build", "--model", str(workplace.model), request=request)


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    monkeypatch.setattr("vertical_engines.commands.build.builder_for", lambda backend, known: StandInBuilder())
    return Workplace(tmp_path)


def test_a_build_ends_with_its_manifest_in_the_termination_message(workplace: Workplace) -> None:
    code, outcome, output = build(workplace)
    manifest = open_engine(workplace.root, REQUEST.key)
    assert code == 0
    assert outcome
    assert (outcome.manifest, outcome.failure) == (manifest.summary(), None)
    assert outcome.store
    assert outcome.store.total_bytes >= outcome.store.free_bytes > 0
    assert outcome.store.engines == 1
    assert [f"[{step}/5]" in output for step in range(1, 6)] == [True] * 5


def test_a_reused_engine_gives_the_same_outcome(workplace: Workplace) -> None:
    first = build(workplace)
    again = build(workplace)
    assert first[1]
    assert again[1]
    assert (again[0], again[1].manifest) == (first[0], first[1].manifest)
    assert "nothing to build" in again[2]


BAD_REQUESTS = {
    "none": (None, Reason.INVALID_SPEC, "is not set"),
    "no json": ("{", Reason.INVALID_SPEC, "not a build request"),
    "unknown field": (json.dumps({**json.loads(REQUEST.to_json()), "extra": 1}), Reason.INVALID_SPEC, "extra"),
    "another key": (REQUEST.model_copy(update={"key": "0" * 64}).to_json(), Reason.UNKNOWN_TOOLCHAIN, "different releases"),
}


@pytest.mark.parametrize(("request_text", "reason", "words"), BAD_REQUESTS.values(), ids=BAD_REQUESTS.keys())
def test_a_request_that_is_not_understood_fails_for_good(
    workplace: Workplace, request_text: str | None, reason: Reason, words: str
) -> None:
    code, outcome, output = build(workplace, request_text)
    assert code == EXIT_USER_ERROR
    assert outcome
    assert outcome.failure
    assert outcome.failure.reason is reason
    assert words in outcome.failure.message
    assert outcome.failure.message in output
    assert list(workplace.root.iterdir()) == []


def test_a_backend_of_another_image_is_refused(tmp_path: Path) -> None:
    toolchain = REQUEST.identity.toolchain.model_copy(update={"backend": "TensorRTLLM", "release": "24.09"})
    identity = REQUEST.identity.model_copy(update={"toolchain": toolchain})
    request = REQUEST.model_copy(update={"identity": identity, "key": identity.key()})
    code, outcome, _ = build(Workplace(tmp_path), request.to_json())
    assert code == EXIT_USER_ERROR
    assert outcome
    assert outcome.failure
    assert outcome.failure.reason is Reason.UNKNOWN_TOOLCHAIN


def test_a_file_that_is_no_model_ends_with_what_was_found(tmp_path: Path) -> None:
    """Through the real builder's check: nothing native runs."""
    workplace = Workplace(tmp_path)
    (workplace.model / "model.txt").rename(workplace.model / "model.gguf")
    code, outcome, _ = build(workplace)
    assert code == EXIT_USER_ERROR
    assert outcome
    assert outcome.failure
    assert outcome.failure.reason is Reason.MODEL_INVALID
    assert "start with b'weights" in outcome.failure.message


def test_removing_is_done_once_and_is_fine_twice(workplace: Workplace) -> None:
    build(workplace)
    first, second = (run(workplace, "remove", "--key", REQUEST.key) for _ in range(2))
    assert (first[0], second[0]) == (0, 0)
    assert "removed" in first[2]
    assert "nothing to remove" in second[2]
    assert not (workplace.root / REQUEST.key).exists()


def test_removing_from_a_store_that_is_not_there_may_be_tried_again(workplace: Workplace) -> None:
    workplace.root.rmdir()
    code, outcome, _ = run(workplace, "remove", "--key", REQUEST.key)
    assert code == EXIT_RETRYABLE
    assert outcome
    assert outcome.failure
    assert outcome.failure.reason is Reason.STORE_UNAVAILABLE


def test_a_termination_log_that_can_not_be_written_spoils_nothing(workplace: Workplace) -> None:
    options = ["--store", str(workplace.root), "--model", str(workplace.model), "--termination-log", "/proc/nowhere/log"]
    result = CliRunner().invoke(app, ["build", *options], env={REQUEST_VARIABLE: REQUEST.to_json()})
    assert result.exit_code == 0
    assert "no termination message" in result.output


def test_a_model_that_can_not_be_read_is_told_and_may_be_tried_again(workplace: Workplace) -> None:
    (workplace.model / "model.txt").unlink()
    code, outcome, _ = build(workplace)
    assert code == EXIT_RETRYABLE
    assert outcome
    assert outcome.failure
    assert "No such file or directory" in outcome.failure.message
    assert "model.txt" in outcome.failure.message
    assert workplace.leftovers() == []


INTERRUPTED = """
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tests.support.stand_in_builder import StandInBuilder, wait_for_ever
from vertical_engines.commands import build
build.builder_for = lambda backend, known: StandInBuilder(during=wait_for_ever)
sys.exit(build.run_build(model=Path(sys.argv[1]), store=Path(sys.argv[2]), termination_log=Path(sys.argv[3])))
"""


@contextmanager
def started(workplace: Workplace) -> Iterator["subprocess.Popen[str]"]:
    """A build in a process of its own that never ends by itself."""
    log = workplace.root.parent / "termination-log"
    environment = {**os.environ, REQUEST_VARIABLE: REQUEST.to_json(), "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", INTERRUPTED, str(workplace.model), str(workplace.root), str(log)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def assert_ended_by_sigterm(process: "subprocess.Popen[str]", workplace: Workplace) -> None:
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 128 + signal.SIGTERM
    outcome = BuildOutcome.from_termination_message((workplace.root.parent / "termination-log").read_text())
    assert outcome
    assert outcome.failure
    assert "SIGTERM" in outcome.failure.message
    assert workplace.leftovers() == []
    assert not (workplace.root / REQUEST.key).exists()


def test_sigterm_ends_a_build_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    workplace = Workplace(tmp_path)
    with started(workplace) as process:
        assert process.stdout
        assert any("[2/5]" in line for line in process.stdout)
        while not list(workplace.root.glob(".tmp/*/begun")):
            assert process.poll() is None
        assert_ended_by_sigterm(process, workplace)


def test_sigterm_ends_a_build_that_waits_for_another_one(tmp_path: Path) -> None:
    workplace = Workplace(tmp_path)
    with workplace.store.hold(REQUEST.key), started(workplace) as process:
        assert process.stdout
        assert any("waiting for it" in line for line in process.stdout)
        assert_ended_by_sigterm(process, workplace)


def test_starting_the_program_imports_nothing_heavy() -> None:
    heavy = {"openvino", "numpy", "tritonclient", "grpc", "vertical_engines.builders", "vertical_engines.store"}
    code = f"import sys, vertical_engines.cli; print(sorted(set(sys.modules) & {heavy}))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
