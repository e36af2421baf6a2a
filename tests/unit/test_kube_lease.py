"""The lease: one holder at a time, take-over only after it ran out as seen from here, and a holder that can't renew ends."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from vertical_operator.kube import lease as module
from vertical_operator.kube.failures import Conflict, Terminal, Transient
from vertical_operator.kube.lease import DURATION_SECONDS, GIVE_UP_SECONDS, Lease, LeaseLost
from vertical_operator.kube.port import Manifest


class MemoryStore:
    """A lease with resourceVersion, as the API server keeps it; `fail` may raise before any request."""

    def __init__(self) -> None:
        self.lease: Manifest | None = None
        self.version = 0
        self.fail: Callable[[], None] = lambda: None

    async def read(self) -> Manifest | None:
        self.fail()
        return self.lease

    async def create(self, spec: dict[str, Any]) -> Manifest:
        self.fail()
        if self.lease is not None:
            raise Conflict("already exists", code=409)
        return self._store(spec)

    async def replace(self, lease: Manifest) -> Manifest:
        self.fail()
        if self.lease is None or lease["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            raise Conflict("the object has been modified", code=409)
        return self._store(lease["spec"])

    def _store(self, spec: dict[str, Any]) -> Manifest:
        self.version += 1
        self.lease = {"metadata": {"resourceVersion": str(self.version)}, "spec": spec}
        return self.lease

    @property
    def holder(self) -> str:
        assert self.lease is not None
        return str(self.lease["spec"]["holderIdentity"])


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    """Sleeping moves the clock and takes no time."""

    async def sleep(seconds: float) -> None:
        clock.now += seconds

    monkeypatch.setattr(module.asyncio, "sleep", sleep)


async def test_the_first_one_gets_it_and_the_second_does_not(clock: Clock) -> None:
    store = MemoryStore()
    a, b = Lease(store, identity="a", clock=clock), Lease(store, identity="b", clock=clock)
    assert await a.attempt()
    assert not await b.attempt()
    assert await a.attempt(), "the holder renews"
    assert store.holder == "a"


async def test_a_lease_is_taken_over_only_after_it_stood_still_for_its_whole_duration_as_seen_from_here(clock: Clock) -> None:
    store = MemoryStore()
    a, b = Lease(store, identity="a", clock=clock), Lease(store, identity="b", clock=clock)
    await a.attempt()
    clock.now += 1000
    assert not await b.attempt(), "first sight: it may have been renewed a moment ago"
    clock.now += DURATION_SECONDS - 0.1
    assert not await b.attempt()
    await a.attempt()
    clock.now += DURATION_SECONDS - 0.1
    assert not await b.attempt(), "it was renewed meanwhile, and is seen to only now"
    clock.now += DURATION_SECONDS - 0.1
    assert not await b.attempt()
    clock.now += 0.2
    assert await b.attempt()
    assert store.holder == "b"
    assert store.lease is not None
    assert store.lease["spec"]["leaseTransitions"] == 1
    assert not await a.attempt()


async def test_of_two_that_see_it_run_out_one_gets_it(clock: Clock) -> None:
    store = MemoryStore()
    await Lease(store, identity="gone", clock=clock).attempt()
    b, c = Lease(store, identity="b", clock=clock), Lease(store, identity="c", clock=clock)
    await b.attempt(), await c.attempt()
    clock.now += DURATION_SECONDS + 1
    assert [await b.attempt(), await c.attempt()] == [True, False]


async def test_a_race_for_a_new_lease_has_one_winner(clock: Clock) -> None:
    store = MemoryStore()
    real_read, entered = store.read, 0

    async def read_nothing_yet() -> Manifest | None:
        nonlocal entered
        entered += 1
        return None if entered <= 2 else await real_read()

    store.read = read_nothing_yet  # type: ignore[method-assign]
    a, b = Lease(store, identity="a", clock=clock), Lease(store, identity="b", clock=clock)
    assert [await a.attempt(), await b.attempt()] == [True, False]


async def test_a_process_that_starts_again_in_its_pod_needs_not_wait(clock: Clock) -> None:
    store = MemoryStore()
    await Lease(store, identity="pod-1", clock=clock).attempt()
    assert await Lease(store, identity="pod-1", clock=clock).attempt()


async def test_released_it_is_free_at_once(clock: Clock) -> None:
    store = MemoryStore()
    a, b = Lease(store, identity="a", clock=clock), Lease(store, identity="b", clock=clock)
    await a.attempt()
    await a.release()
    assert await b.attempt()


async def test_release_by_one_that_does_not_hold_it_changes_nothing(clock: Clock) -> None:
    store = MemoryStore()
    a, b = Lease(store, identity="a", clock=clock), Lease(store, identity="b", clock=clock)
    await a.attempt()
    await b.attempt()
    await b.release()
    assert store.holder == "a"


@pytest.mark.usefixtures("quick")
async def test_a_standby_survives_failures_and_gets_it_in_the_end(clock: Clock) -> None:
    store = MemoryStore()
    failures = iter([Transient("down"), Terminal("forbidden"), Transient("down")])

    def fail() -> None:
        if (failure := next(failures, None)) is not None:
            raise failure

    store.fail = fail
    await Lease(store, identity="a", clock=clock).acquire()
    assert store.holder == "a"


@pytest.mark.usefixtures("quick")
async def test_a_holder_that_can_not_renew_gives_up_before_another_may_take_over(clock: Clock) -> None:
    store = MemoryStore()
    a = Lease(store, identity="a", clock=clock)
    await a.attempt()
    renewed_at = clock.now

    def fail() -> None:
        raise Transient("no answer")

    store.fail = fail
    with pytest.raises(LeaseLost, match="no answer"):
        await a.keep()
    assert GIVE_UP_SECONDS <= clock.now - renewed_at < DURATION_SECONDS


@pytest.mark.usefixtures("quick")
async def test_a_short_outage_is_no_loss(clock: Clock) -> None:
    store = MemoryStore()
    a = Lease(store, identity="a", clock=clock)
    await a.attempt()
    answers = iter([Transient("down"), None, None, None, None, Terminal("end of the test")])

    def fail() -> None:
        if (failure := next(answers)) is not None:
            raise failure

    store.fail = fail
    with pytest.raises(LeaseLost, match="end of the test"):
        await a.keep()
    assert store.version >= 3


@pytest.mark.usefixtures("quick")
async def test_a_holder_that_was_replaced_ends(clock: Clock) -> None:
    store = MemoryStore()
    a = Lease(store, identity="a", clock=clock)
    await a.attempt()
    store._store({"holderIdentity": "b"})
    with pytest.raises(LeaseLost, match="another process"):
        await a.keep()


@pytest.mark.usefixtures("quick")
async def test_a_foreign_edit_that_leaves_us_the_holder_is_no_loss(clock: Clock) -> None:
    store = MemoryStore()
    a = Lease(store, identity="a", clock=clock)
    await a.attempt()
    real, calls = store.replace, 0

    async def replace(lease: Manifest) -> Manifest:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise Conflict("somebody set a label", code=409)
        if calls == 3:
            raise Terminal("end of the test")
        return await real(lease)

    store.replace = replace  # type: ignore[method-assign]
    with pytest.raises(LeaseLost, match="end of the test"):
        await a.keep()
    assert calls == 3


async def test_a_request_that_hangs_counts_as_no_renewal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GIVE_UP_SECONDS", 0.05)
    monkeypatch.setattr(module, "RENEW_SECONDS", 0.01)
    store = MemoryStore()
    a = Lease(store, identity="a")
    await a.attempt()

    async def hang() -> Manifest | None:
        await asyncio.Event().wait()
        return None

    store.read = hang  # type: ignore[method-assign]
    with pytest.raises(LeaseLost, match="could not be renewed"):
        await asyncio.wait_for(a.keep(), 5)
