"""One holder a key at any time, also when a holder takes the lock file away."""

import threading
from pathlib import Path

from tests.support.stand_in_builder import Workplace, engine_request
from vertical_engines.store.locks import held_if_free

KEY = engine_request().key


def test_a_lock_is_free_held_and_free_again(tmp_path: Path) -> None:
    path = tmp_path / "locks" / "key"
    with held_if_free(path) as first:
        assert first
        with held_if_free(path) as second:
            assert not second
    with held_if_free(path) as third:
        assert third


def test_who_waited_for_a_lock_that_was_removed_holds_the_new_one(tmp_path: Path) -> None:
    workplace = Workplace(tmp_path)
    entered, leave = threading.Event(), threading.Event()

    def wait_and_hold() -> None:
        with workplace.store.hold(KEY):
            entered.set()
            assert leave.wait(20)

    waiter = threading.Thread(target=wait_and_hold)
    with workplace.store.hold(KEY):
        waiter.start()
        while not any("waiting for it" in line for line in workplace.lines):
            assert waiter.is_alive()
        workplace.store.remove(KEY)
    assert entered.wait(20)
    with held_if_free(workplace.root / ".locks" / KEY) as free:
        assert not free, "two hold the same key"
    leave.set()
    waiter.join(20)
