"""Real engines from a real model: built, loaded, reused, built from an IR, killed half-way; and real files that are no model."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from vertical_engines.builders.openvino import OpenVinoBuilder, run_native
from vertical_engines.builders.openvino_source import IR_FILES
from vertical_engines.builders.translation import Circumstances
from vertical_engines.contract.build import EXIT_RETRYABLE, EXIT_USER_ERROR, REQUEST_VARIABLE, BuildOutcome, BuildRequest
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.store.reading import open_engine

pytestmark = pytest.mark.slow


class Job:
    """`vertical-engines build` in a process of its own, with a model and a store like a build container's."""

    def __init__(self, folder: Path, request: BuildRequest) -> None:
        self.model, self.store, self.log = folder / "model", folder / "store", folder / "termination-log"
        for path in (self.model, self.store):
            path.mkdir()
        self.request = request

    @contextmanager
    def started(self) -> Iterator["subprocess.Popen[str]"]:
        command = [sys.executable, "-m", "vertical_engines.cli", "build", "--model", str(self.model), "--store", str(self.store)]
        environment = {**os.environ, REQUEST_VARIABLE: self.request.to_json()}
        with subprocess.Popen(
            [*command, "--termination-log", str(self.log)], env=environment, stdout=subprocess.PIPE, text=True
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def run(self) -> tuple[int, BuildOutcome, str]:
        """Exit code, outcome, output."""
        with self.started() as process:
            output, _ = process.communicate(timeout=300)
        outcome = BuildOutcome.from_termination_message(self.log.read_text())
        assert outcome, output
        return process.returncode, outcome, output


@pytest.fixture
def job(tmp_path: Path, smollm2_engine) -> Job:
    return Job(tmp_path, smollm2_engine("contiguous").request)


def test_an_engine_holds_an_ir_that_generates(smollm2_engine) -> None:
    contiguous, paged = smollm2_engine("contiguous"), smollm2_engine("paged")
    assert contiguous.key != paged.key
    for engine in (contiguous, paged):
        assert open_engine(engine.store, engine.key, digests=True) == engine.manifest
        assert {file.path for file in engine.manifest.files} == set(IR_FILES)
        smoke = engine.manifest.smoke_test
        assert smoke
        assert smoke.tokens == 8
        assert smoke.text.strip()
        assert {"gguf", "openvino", "openvino_genai", "openvino_tokenizers", "python"} == engine.manifest.versions.keys()


def test_the_artefact_does_not_depend_on_the_run(smollm2_engine) -> None:
    """Same source, same release, same bytes: only then is a content-addressed key honest."""
    files = {layout: {file.path: file.sha256 for file in smollm2_engine(layout).manifest.files} for layout in ("contiguous", "paged")}
    assert files["contiguous"]["openvino_model.bin"] == files["paged"]["openvino_model.bin"]


def test_an_ir_folder_is_a_source_too(job: Job, smollm2_engine) -> None:
    engine = smollm2_engine("contiguous")
    for name in IR_FILES:
        (job.model / name).symlink_to(engine.store / engine.key / name)
    code, outcome, output = job.run()
    assert code == 0, output
    assert open_engine(job.store, job.request.key).files == engine.manifest.files
    assert outcome.manifest
    assert outcome.manifest.verified


def test_a_model_that_only_the_native_reader_refuses_is_the_users_to_correct(job: Job, smollm2_gguf: Path) -> None:
    (job.model / "model.gguf").write_bytes(smollm2_gguf.read_bytes().replace(b"llama.block_count", b"llama.clock_bount"))
    code, outcome, output = job.run()
    assert code == EXIT_USER_ERROR, output
    assert outcome.failure
    assert outcome.failure.reason is Reason.MODEL_INVALID
    assert outcome.failure.log == ["IndexError: unordered_map::at"]
    assert list((job.store / ".tmp").iterdir()) == []


def test_a_crash_in_native_code_is_told_as_one(job: Job, smollm2_gguf: Path, tmp_path: Path) -> None:
    """Past our own check of the header, a file cut in half makes the native reader crash."""
    cut, folder = job.model / "model.gguf", tmp_path / "engine"
    cut.write_bytes(smollm2_gguf.read_bytes()[: smollm2_gguf.stat().st_size // 2])
    folder.mkdir()
    about = Circumstances(doing="conversion", source=cut.name)
    with pytest.raises(Failure, match=r"SIGSEGV.*model\.gguf") as crashed:
        run_native("convert", str(cut), about=about, folder=folder, say=print)
    assert crashed.value.reason is Reason.BUILD_FAILED
    assert crashed.value.exit_code == EXIT_RETRYABLE


def test_a_damaged_engine_does_not_pass_the_smoke_test(smollm2_engine, job: Job, tmp_path: Path) -> None:
    engine, folder = smollm2_engine("contiguous"), tmp_path / "engine"
    shutil.copytree(engine.store / engine.key, folder)
    graph = (folder / "openvino_model.xml").read_bytes()
    (folder / "openvino_model.xml").write_bytes(graph[: len(graph) // 2])
    with pytest.raises(Failure, match="smoke test") as failed:
        OpenVinoBuilder().smoke_test(job.request.identity, folder=folder, say=print)
    assert failed.value.reason is Reason.VERIFICATION_FAILED
    assert failed.value.exit_code == EXIT_USER_ERROR
    assert failed.value.log


@pytest.mark.parametrize("step", ["[2/5]", "[3/5]"])
def test_a_build_killed_in_native_code_takes_it_along_and_ends_right_when_run_again(job: Job, smollm2_gguf: Path, step: str) -> None:
    (job.model / "model.gguf").symlink_to(smollm2_gguf)
    with job.started() as process:
        assert process.stdout
        assert any(step in line for line in process.stdout)
        native = wait_for(lambda: children(process.pid))
        process.send_signal(signal.SIGKILL)
        process.wait(20)
        wait_for(lambda: not any(is_running(pid) for pid in native))
    assert list((job.store / ".tmp").iterdir()) != [], "the kill came too late to leave anything"
    code, outcome, output = job.run()
    assert code == 0, output
    assert "removing what a dead build left" in output
    assert list((job.store / ".tmp").iterdir()) == []
    assert outcome.manifest == open_engine(job.store, job.request.key, digests=True).summary()


def wait_for(seen: Callable[[], object], *, seconds: float = 20) -> list[int]:
    """What `seen` gives once it gives anything."""
    deadline = time.monotonic() + seconds
    while not (found := seen()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
    return found if isinstance(found, list) else []


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    """A zombie waits for whoever adopted it: it does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
