"""The work queue: no key twice, no key at two workers, back-off that is bounded."""

import asyncio

import pytest

from vertical_operator.runtime.queue import FIRST_DELAY, JITTER, LONGEST_DELAY, WorkQueue


async def is_empty(queue: WorkQueue[str]) -> bool:
    await asyncio.sleep(0)
    return queue.depth == 0


async def test_a_key_that_waits_already_is_not_added_again() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    queue.add("b")
    queue.add("a")
    assert [await queue.get(), await queue.get()] == ["a", "b"]
    assert await is_empty(queue)


async def test_a_key_added_while_it_is_worked_on_comes_again_only_when_that_has_ended() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    assert await queue.get() == "a"
    queue.add("a")
    queue.add("a")
    assert queue.depth == 0, "two workers would have the same key"
    queue.done("a")
    assert queue.depth == 1
    assert await queue.get() == "a"
    queue.done("a")
    assert queue.depth == 0


async def test_get_waits_for_a_key() -> None:
    queue: WorkQueue[str] = WorkQueue()
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    assert not waiting.done()
    queue.add("late")
    assert await asyncio.wait_for(waiting, 5) == "late"


async def test_two_waiting_workers_get_two_keys() -> None:
    queue: WorkQueue[str] = WorkQueue()
    workers = [asyncio.create_task(queue.get()) for _ in range(2)]
    await asyncio.sleep(0)
    queue.add("a")
    queue.add("b")
    assert {await asyncio.wait_for(worker, 5) for worker in workers} == {"a", "b"}


async def test_add_after_brings_the_key_and_the_earliest_of_several_counts() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("a", 3600)
    queue.add_after("a", 0.01)
    queue.add_after("a", 7200)
    assert await asyncio.wait_for(queue.get(), 5) == "a"


async def test_working_on_a_key_drops_its_timer() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("a", 0.02)
    queue.add("a")
    assert await queue.get() == "a"
    queue.done("a")
    queue.add_after("witness", 0.05)
    assert await asyncio.wait_for(queue.get(), 5) == "witness"


async def test_back_off_doubles_up_to_its_bound_and_starts_over_after_a_success() -> None:
    queue: WorkQueue[str] = WorkQueue(jitter=lambda: 0.0)
    delays = [queue.retry("a") for _ in range(14)]
    assert delays[:4] == [FIRST_DELAY, FIRST_DELAY * 2, FIRST_DELAY * 4, FIRST_DELAY * 8]
    assert delays[-1] == LONGEST_DELAY
    queue.succeeded("a")
    assert queue.retry("a") == FIRST_DELAY


async def test_back_off_is_per_key() -> None:
    queue: WorkQueue[str] = WorkQueue(jitter=lambda: 0.0)
    for _ in range(5):
        queue.retry("bad")
    assert queue.retry("good") == FIRST_DELAY


async def test_jitter_only_shortens_and_thousand_failures_do_not_overflow() -> None:
    queue: WorkQueue[str] = WorkQueue(jitter=lambda: 0.999)
    for _ in range(2000):
        delay = queue.retry("a")
    assert LONGEST_DELAY * (1 - JITTER) <= delay <= LONGEST_DELAY


@pytest.mark.parametrize(("asked", "delay"), [(7.0, 7.0), (0.0, FIRST_DELAY), (9999.0, LONGEST_DELAY)])
async def test_retry_honours_what_the_server_asked_for_within_the_bound(asked: float, delay: float) -> None:
    assert WorkQueue[str](jitter=lambda: 0.0).retry("a", at_least=asked) == delay


async def test_age_is_that_of_the_longest_waiting_key() -> None:
    queue: WorkQueue[str] = WorkQueue()
    assert queue.oldest_age == 0
    queue.add("a")
    queue.add_after("b", 0.02)
    later = asyncio.Event()
    asyncio.get_running_loop().call_later(0.03, later.set)
    await later.wait()
    assert queue.oldest_age >= 0.015
    await queue.get()
    assert queue.oldest_age < 0.015
