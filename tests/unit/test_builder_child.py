"""Native code in a process of its own: its lines, its life signs, its end, and that it ends with its caller."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from vertical_engines.builders.child import LINE_LIMIT, TAIL_LINES, Ended, run_child


def run(code: str, *, lines: list[str] | None = None, life_sign_seconds: float = 5.0) -> Ended:
    said = lines if lines is not None else []
    return run_child([sys.executable, "-u", "-c", code], say=said.append, doing="work", life_sign_seconds=life_sign_seconds)


def test_lines_of_both_outputs_are_passed_on_as_they_come() -> None:
    lines: list[str] = []
    ended = run("import sys; print('one'); print('two', file=sys.stderr); sys.stdout.write('no end'); sys.exit(3)", lines=lines)
    assert [line.strip() for line in lines] == ["one", "two", "no end"]
    assert (ended.code, ended.tail) == (3, ("one", "two", "no end"))


def test_what_is_kept_is_bounded() -> None:
    ended = run(f"print('x' * 1_000_000)\nfor number in range({TAIL_LINES}): print(number)\nprint('y' * 1_000_000, end='')")
    assert len(ended.tail) == TAIL_LINES
    assert ended.tail[0] == "1"
    assert set(ended.tail[-1]) == {"y"}
    assert len(ended.tail[-1]) == LINE_LIMIT


def test_a_silent_process_shows_that_it_lives() -> None:
    lines: list[str] = []
    ended = run("import time; a = bytearray(50_000_000); time.sleep(0.5)", lines=lines, life_sign_seconds=0.1)
    assert any("s so far" in line for line in lines)
    assert ended.code == 0
    assert ended.peak > 50_000_000


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGILL])
def test_a_signal_is_told_as_a_negative_code(number: signal.Signals) -> None:
    assert run(f"import os; print('last words', flush=True); os.kill(os.getpid(), {int(number)})").code == -number


def test_whatever_ends_the_call_ends_the_process(tmp_path: Path) -> None:
    told = tmp_path / "pid"

    def stop(line: str) -> None:
        told.write_text(line)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_child([sys.executable, "-u", "-c", "import os, time; print(os.getpid()); time.sleep(600)"], say=stop, doing="work")
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.read_text()), 0)


def test_what_a_process_has_started_ends_with_it(tmp_path: Path) -> None:
    """A pool of workers, say, that its leader leaves behind when it fails."""
    told = tmp_path / "pid"
    worker = "import os, sys, time; print(os.getpid(), flush=True); os.close(1); os.close(2); time.sleep(600)"
    leader = (
        f"import subprocess, sys; w = subprocess.Popen([sys.executable, '-c', {worker!r}], stdout=subprocess.PIPE); "
        "print(w.stdout.readline().decode(), flush=True); sys.exit(4)"
    )
    ended = run_child([sys.executable, "-u", "-c", leader], say=lambda line: told.write_text(line), doing="work")
    assert ended.code == 4
    pid = int(told.read_text())
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]:
        assert time.monotonic() < deadline


def test_a_native_stack_does_not_hide_what_was_said_before_it() -> None:
    frames = "for n in range(50): print(f'{n}   0x7f10a2b3c4d5 /usr/lib/x.so(+0x1) [0x7f1]')"
    code = f"print('Assertion failed: Unsupported architecture')\n{frames}"
    ended = run(f"{code}\nimport os; os.abort()")
    assert ended.tail == ("Assertion failed: Unsupported architecture",)


def test_more_is_looked_through_than_is_shown() -> None:
    ended = run("print('the cause')\nfor n in range(100): print('what followed')")
    assert "the cause" not in ended.tail
    assert ended.log[0] == "the cause"
