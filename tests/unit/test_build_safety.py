"""Builds that meet a full disk, a read-only store, too little memory or a rival: no half engine, the next try ends right, no litter."""

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.stand_in_builder import StandInBuilder, Workplace, engine_request
from tests.unit.test_builder_command import started
from vertical_engines.builders.child import run_child
from vertical_engines.builders.translation import Circumstances, translate
from vertical_engines.commands.ending import run_to_end
from vertical_engines.contract.build import EXIT_RETRYABLE, EXIT_USER_ERROR, BuildOutcome
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.store.reading import open_engine
from vertical_operator.core.render.build_job import FAILURE_POLICY

REQUEST = engine_request()
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def outcome_of(workplace: Workplace, builder: StandInBuilder | None = None) -> tuple[int, BuildOutcome]:
    """Exit code and termination message of a build, as its container would end."""
    log = workplace.root.parent / "termination-log"
    code = run_to_end(
        lambda: BuildOutcome(manifest=workplace.build(REQUEST, builder).summary()), termination_log=log, say=workplace.lines.append
    )
    outcome = BuildOutcome.from_termination_message(log.read_text())
    assert outcome
    return code, outcome


def is_whole(workplace: Workplace) -> bool:
    """Whether a reader gets the engine; anything between there and not there fails the test."""
    try:
        open_engine(workplace.root, REQUEST.key, digests=True)
    except Failure:
        return False
    return True


def assert_next_try_ends_right(workplace: Workplace) -> None:
    code, outcome = outcome_of(workplace)
    assert code == 0, outcome
    assert is_whole(workplace)
    assert workplace.leftovers() == []


def with_faults(work: Callable[[], tuple[int, BuildOutcome]], root: Path, *, number: int, first: int, last: int) -> tuple[int, int, str]:
    """Steps taken, exit code and reason of `work` in a forked process, where the system refuses every write from step `first` to `last`.

    Python announces each call of the file system before it is made; an exception from there is the call's own.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        taken = 0

        def audit(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal taken
            path = str(arguments[0]) if arguments else ""
            writes = event in {"os.mkdir", "os.rename"} or (event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITES)
            writes = writes or (number == errno.EROFS and event in {"os.remove", "os.rmdir"})
            if not writes or not path.startswith(str(root)):
                return
            taken += 1
            if first <= taken <= last:
                raise OSError(number, os.strerror(number), path)

        sys.addaudithook(audit)
        code, outcome = work()
        os.write(writer, f"{taken} {code} {outcome.failure.reason.value if outcome.failure else '-'}".encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as told:
        text = told.read()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "the build met the fault with a crash"
    taken_text, code_text, reason = text.split()
    return int(taken_text), int(code_text), reason


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize(("number", "reason"), [(errno.ENOSPC, Reason.STORE_FULL), (errno.EROFS, Reason.STORE_UNAVAILABLE)])
def test_a_store_that_refuses_a_write_at_any_step(tmp_path: Path, number: int, reason: Reason, lasting: bool) -> None:
    whole = Workplace(tmp_path / "whole")
    steps, code, _ = with_faults(lambda: outcome_of(whole), whole.root, number=number, first=0, last=0)
    assert code == 0
    assert steps >= 8, "the campaign would meet too few writes to prove anything"
    failed = 0
    for step in range(1, steps + 1):
        workplace = Workplace(tmp_path / str(step))
        last = 10**6 if lasting else step
        _, code, told = with_faults(lambda work=workplace: outcome_of(work), workplace.root, number=number, first=step, last=last)
        assert (code, told) in {(EXIT_RETRYABLE, reason.value), (0, "-")}, f"step {step}"
        assert is_whole(workplace) == (code == 0), f"step {step}"
        failed += code != 0
        assert_next_try_ends_right(workplace)
    assert failed >= steps - 2, "refused writes went unnoticed"


MEMORY = 512 * 1024 * 1024
HUNGRY = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY})); held = bytearray(2 * {MEMORY})"
KILLED = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
FULL = "open('/dev/full', 'wb', 0).write(b'x')"


@pytest.mark.parametrize(
    ("program", "reason"),
    [(HUNGRY, Reason.BUILD_OUT_OF_MEMORY), (KILLED, Reason.BUILD_OUT_OF_MEMORY), (FULL, Reason.STORE_FULL)],
    ids=["no more memory", "killed by the kernel", "no more room"],
)
def test_native_code_that_ends_badly_may_be_tried_again(tmp_path: Path, program: str, reason: Reason) -> None:
    """A real process in the middle of a conversion, with half of the files written."""

    def convert(folder: Path) -> None:
        ended = run_child([sys.executable, "-c", program], say=lambda line: None, doing="conversion")
        raise translate(ended, Circumstances(doing="conversion", source="model.gguf"))

    workplace = Workplace(tmp_path)
    code, outcome = outcome_of(workplace, StandInBuilder(during=convert))
    assert outcome.failure
    assert (code, outcome.failure.reason) == (EXIT_RETRYABLE, reason)
    assert not is_whole(workplace)
    assert workplace.leftovers() == []
    assert_next_try_ends_right(workplace)


def test_a_rival_takes_over_from_a_builder_that_is_killed(tmp_path: Path) -> None:
    """Two builders of one key: the second waits, and when the first dies half-way it clears up and builds."""
    workplace = Workplace(tmp_path)
    with started(workplace) as first:
        assert first.stdout
        assert any("[2/5]" in line for line in first.stdout)
        while not list(workplace.root.glob(".tmp/*/begun")):
            assert first.poll() is None
        ended: list[tuple[int, BuildOutcome]] = []
        second = StandInBuilder()
        rival = threading.Thread(target=lambda: ended.append((0, BuildOutcome(manifest=workplace.build(REQUEST, second).summary()))))
        rival.start()
        while not any("waiting for it" in line for line in workplace.lines):
            assert rival.is_alive()
        assert second.calls == []
        first.kill()
        rival.join(20)
    assert [code for code, _ in ended] == [0]
    assert second.calls == ["check", "convert", "smoke_test"]
    assert is_whole(workplace)
    assert workplace.leftovers() == []
    assert any("removing what a dead build left" in line for line in workplace.lines)


def test_only_what_no_retry_cures_fails_the_job_at_once() -> None:
    """65 ends the Job, 75 counts against backoffLimit (the Job controller waits 10 s, 20 s, 40 s ...), an eviction counts for nothing."""
    at_once, ignored = FAILURE_POLICY["rules"]
    assert at_once == {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [EXIT_USER_ERROR]}}
    assert ignored["action"] == "Ignore"
    transient = {Reason.STORE_FULL, Reason.STORE_UNAVAILABLE, Reason.BUILD_OUT_OF_MEMORY, Reason.ENGINE_MISSING, Reason.ENGINE_CORRUPT}
    user = {Reason.MODEL_INVALID, Reason.MODEL_NOT_FOUND, Reason.UNSUPPORTED_BUILD_FLAG, Reason.INVALID_SPEC, Reason.VERIFICATION_FAILED}
    assert {Failure(reason, "").exit_code for reason in transient} == {EXIT_RETRYABLE}
    assert {Failure(reason, "").exit_code for reason in user} == {EXIT_USER_ERROR}


def test_the_store_is_on_the_disk_before_a_reader_sees_it(tmp_path: Path) -> None:
    """A node that loses power after publishing must not keep a name for files that it lost: everything is flushed before the rename."""
    script = (
        "import sys; from pathlib import Path; from tests.unit.test_build_safety import order_of_calls; order_of_calls(Path(sys.argv[1]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], env=environment, capture_output=True, text=True, check=True)
    calls = done.stdout.split()
    assert calls.index("weights.bin") < calls.index("renamed") < calls.index(".manifest.json.unfinished")


def order_of_calls(folder: Path) -> None:
    """Prints names of files as they are flushed, and `renamed` when the engine appears. For a process of its own."""
    from vertical_engines.store import durable, volume

    flush, rename = os.fsync, Path.rename

    def shown_flush(descriptor: int) -> None:
        print(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        flush(descriptor)

    def shown_rename(path: Path, target: Path) -> Path:
        if target.name == REQUEST.key:
            print("renamed")
        return rename(path, target)

    os.fsync, Path.rename = shown_flush, shown_rename  # type: ignore[assignment,method-assign]
    assert durable.os is volume.sync_file.__globals__["os"]
    Workplace(folder / "work").build(REQUEST)
