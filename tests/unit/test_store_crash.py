"""A build or a removal that is killed before any of its steps on the file system, and run again, ends right."""

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.support.stand_in_builder import StandInBuilder, Workplace, engine_request
from vertical_engines.failure import Failure
from vertical_engines.store.reading import open_engine

REQUEST = engine_request()
STEPS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "shutil.rmtree", "fcntl.flock"}


def count_steps(work: Callable[[], object], *, root: Path, kill_before: int | None = None) -> int | None:
    """Run `work` in a forked process; the number of steps it took, or None when it was killed before step `kill_before`.

    Python announces every call of the file system as an audit event before it is made: no step can be forgotten.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        taken = 0

        def audit(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal taken
            if event not in STEPS or (event == "open" and not str(arguments[0]).startswith(str(root))):
                return
            if taken == kill_before:
                os.kill(os.getpid(), signal.SIGKILL)
            taken += 1

        sys.addaudithook(audit)
        work()
        os.write(writer, str(taken).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as told:
        text = told.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return None
    assert os.WEXITSTATUS(status) == 0, "the work itself failed"
    return int(text)


def build(workplace: Workplace) -> None:
    workplace.build(REQUEST)


def remove(workplace: Workplace) -> None:
    with workplace.store.hold(REQUEST.key):
        workplace.store.remove(REQUEST.key)


def built(folder: Path) -> Workplace:
    workplace = Workplace(folder)
    workplace.build(REQUEST)
    return workplace


def damaged(folder: Path) -> Workplace:
    workplace = built(folder)
    (workplace.root / REQUEST.key / "weights.bin").write_text("damaged")
    return workplace


@pytest.mark.parametrize(("prepare", "work", "least"), [(Workplace, build, 20), (damaged, build, 25), (built, remove, 8)])
def test_killed_before_every_step_and_run_again_it_ends_right(
    tmp_path: Path, prepare: Callable[[Path], Workplace], work: Callable[[Workplace], None], least: int
) -> None:
    whole = prepare(tmp_path / "whole")
    steps = count_steps(partial(work, whole), root=whole.root)
    assert steps is not None
    assert steps >= least, "the campaign would kill too few times to prove anything"
    for step in range(steps):
        workplace = prepare(tmp_path / str(step))
        assert count_steps(partial(work, workplace), root=workplace.root, kill_before=step) is None, f"step {step} was not reached"
        seen_whole = readable(workplace)
        again = StandInBuilder()
        if work is build:
            workplace.build(REQUEST, again)
            assert (again.calls == []) == seen_whole, f"after a kill before step {step}"
            assert readable(workplace), f"after a kill before step {step}"
        else:
            work(workplace)
            assert not (workplace.root / REQUEST.key).exists(), f"after a kill before step {step}"
        assert workplace.leftovers() == [], f"after a kill before step {step}"


def readable(workplace: Workplace) -> bool:
    """Whether a reader gets the engine, byte for byte; anything between there and not there fails the test."""
    try:
        manifest = open_engine(workplace.root, REQUEST.key, digests=True)
    except Failure:
        return False
    weights = (workplace.root / REQUEST.key / "weights.bin").read_text()
    assert weights == "weights\n" * 100
    assert {file.path for file in manifest.files} == {"tokenizer/vocabulary.txt", "weights.bin"}
    return True
