"""Processes that outlive a command, waits with deadlines, and errors that say what to do."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cluster.errors import ClusterError
from tests.cluster.processes import Process, start_detached, start_time
from tests.cluster.shell import output
from tests.cluster.waiting import eventually

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(600)"


def test_a_detached_process_is_remembered_and_ended(tmp_path: Path) -> None:
    process = start_detached([sys.executable, "-c", "import time; time.sleep(600)"], log=tmp_path / "log")
    process.write(tmp_path / "it.process")
    again = Process.read(tmp_path / "it.process")
    assert again == process
    assert again is not None
    assert again.alive()
    again.end()
    assert not again.alive()


def test_a_process_that_ignores_sigterm_is_killed_at_once_on_demand(tmp_path: Path) -> None:
    log = tmp_path / "log"
    process = start_detached([sys.executable, "-c", STUBBORN], log=log)
    eventually("it ignores SIGTERM", lambda: "ready" in log.read_text())
    begun = time.monotonic()
    process.end(at_once=True)
    assert not process.alive()
    assert time.monotonic() - begun < 3


def test_a_pid_that_belongs_to_another_process_now_is_not_it() -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as other:
        try:
            impostor = Process(pid=other.pid, started="1")
            assert not impostor.alive()
            impostor.end()
            assert other.poll() is None, "it must not be killed"
        finally:
            other.kill()


def test_no_record_is_no_process(tmp_path: Path) -> None:
    assert Process.read(tmp_path / "nothing") is None
    assert start_time(2**22 + 1) is None


def test_output_of_a_failing_program_is_shown_with_what_to_do() -> None:
    with pytest.raises(ClusterError, match=r"(?s)ended with 3.*it broke.*What to do: mend it"):
        output([sys.executable, "-c", "import sys; print('it broke'); sys.exit(3)"], remedy="mend it")


def test_a_missing_program_is_named() -> None:
    with pytest.raises(ClusterError, match=r"no-such-program is not installed"):
        output(["no-such-program"])


def test_a_program_that_hangs_is_ended() -> None:
    with pytest.raises(ClusterError, match="did not end within 0 s"):
        output([sys.executable, "-c", "import time; time.sleep(600)"], timeout=0.3)


def test_waiting_returns_the_first_true_value() -> None:
    values = iter([None, 0, "", "here"])
    assert eventually("it", lambda: next(values), every=0) == "here"


def test_waiting_says_what_was_seen_last() -> None:
    def probe() -> bool:
        raise AssertionError("still Pending")

    with pytest.raises(TimeoutError, match="pod: not within 0 s; last seen: still Pending"):
        eventually("pod", probe, timeout=0.05, every=0.01)


def test_waiting_does_not_hide_other_errors() -> None:
    def probe() -> bool:
        raise KeyError("status")

    with pytest.raises(KeyError):
        eventually("pod", probe, timeout=5)
