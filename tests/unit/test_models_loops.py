"""Both loops with stand-in pipelines: every caller gets exactly one answer, whatever happens."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.support.stand_in_generation import Caller, StandInBatch, StandInGenerator, ticket
from vertical_engines.models.inflight import InflightLoop
from vertical_engines.models.realtime import RealtimeLoop
from vertical_engines.models.refusal import Refusal
from vertical_engines.models.traffic import NoTraffic


@contextmanager
def inflight(batch: StandInBatch, *, live: int = 8, waiting: int = 64) -> Iterator[InflightLoop]:
    loop = InflightLoop(batch, live=live, waiting=waiting, traffic=NoTraffic())
    try:
        yield loop
    finally:
        batch.run_free()
        loop.close()


@contextmanager
def realtime(generator: StandInGenerator, *, waiting: int = 64) -> Iterator[RealtimeLoop]:
    loop = RealtimeLoop(generator, waiting=waiting, traffic=NoTraffic())
    try:
        yield loop
    finally:
        generator.run_free()
        loop.close()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.001)


def test_inflight_answers_each_with_its_own_length() -> None:
    callers = [Caller() for _ in range(5)]
    with inflight(StandInBatch()) as loop:
        for number, caller in enumerate(callers, start=1):
            loop.submit(ticket(caller, tokens=number))
        assert [caller.result() for caller in callers] == [
            type(caller.result())("x" * number, number, "length") for number, caller in enumerate(callers, start=1)
        ]
    assert [caller.outcomes for caller in callers] == [1] * 5


def test_inflight_never_has_more_at_work_than_allowed() -> None:
    callers, batch = [Caller() for _ in range(20)], StandInBatch(free=False)
    with inflight(batch, live=4) as loop:
        for caller in callers:
            loop.submit(ticket(caller))
        batch.run_free()
        assert {caller.code() for caller in callers} == {"answered"}
    assert batch.most_live == 4


def test_inflight_lets_a_request_join_a_batch_at_work() -> None:
    long, short, batch = Caller(), Caller(), StandInBatch(free=False)
    with inflight(batch) as loop:
        loop.submit(ticket(long, tokens=100))
        batch.let_step(2)
        until(lambda: list(batch.live.values()) == [2])
        loop.submit(ticket(short, tokens=1))
        batch.let_step(2)
        assert short.code() == "answered"
        assert long.outcome is None


def test_inflight_fails_every_live_request_when_a_step_fails_and_goes_on() -> None:
    callers, batch = [Caller() for _ in range(3)], StandInBatch(free=False)
    with inflight(batch) as loop:
        for caller in callers:
            loop.submit(ticket(caller, tokens=50))
        batch.let_step()
        until(lambda: len(batch.live) == 3)
        batch.step_error = RuntimeError("/opt/secret/path: out of memory")
        batch.let_step(3)
        for caller in callers:
            refusal = caller.result()
            assert isinstance(refusal, Refusal)
            assert refusal.to_message() == "[INTERNAL] RuntimeError in the model; the server's log has the details"
        assert len(batch.cancelled) == 3
        batch.run_free()
        after = Caller()
        loop.submit(ticket(after))
        assert after.code() == "answered"
    assert [caller.outcomes for caller in callers] == [1] * 3


def test_inflight_fails_only_the_request_that_can_not_be_added() -> None:
    good, bad, batch = Caller(), Caller(), StandInBatch()
    with inflight(batch) as loop:
        batch.add_error = RuntimeError("prompt")
        loop.submit(ticket(bad))
        assert bad.code() == "INTERNAL"
        batch.add_error = None
        loop.submit(ticket(good))
        assert good.code() == "answered"


def test_inflight_drops_a_caller_that_has_gone() -> None:
    gone, stays, batch = Caller(), Caller(), StandInBatch(free=False)
    with inflight(batch) as loop:
        for caller in (gone, stays):
            loop.submit(ticket(caller, tokens=50))
        batch.let_step()
        until(lambda: len(batch.live) == 2)
        gone.gone = True
        batch.let_step()
        assert gone.code() == "CANCELLED"
        assert len(batch.cancelled) == 1
        batch.run_free()
        assert stays.code() == "answered"


def test_inflight_does_not_begin_for_a_caller_that_has_gone_while_waiting() -> None:
    first, second, batch = Caller(), Caller(), StandInBatch(free=False)
    with inflight(batch, live=1) as loop:
        loop.submit(ticket(first, tokens=2))
        until(lambda: len(batch.live) == 1)
        loop.submit(ticket(second))
        second.gone = True
        batch.run_free()
        assert (first.code(), second.code()) == ("answered", "CANCELLED")
    assert batch.most_live == 1


def test_inflight_turns_away_what_can_not_wait() -> None:
    callers, batch = [Caller() for _ in range(3)], StandInBatch(free=False)
    with inflight(batch, live=1, waiting=2) as loop:
        loop.submit(ticket(callers[0]))
        until(lambda: len(batch.live) == 1)
        for caller in callers[1:]:
            loop.submit(ticket(caller))
        with pytest.raises(Refusal, match="2 requests are waiting already; try again later") as caught:
            loop.submit(ticket(Caller()))
        assert caught.value.code == "UNAVAILABLE"
        batch.run_free()
        assert [caller.code() for caller in callers] == ["answered"] * 3


def test_inflight_fails_what_is_left_when_it_is_closed() -> None:
    live, waiting, batch = Caller(), Caller(), StandInBatch(free=False)
    with inflight(batch, live=1) as loop:
        loop.submit(ticket(live, tokens=10**9))
        until(lambda: len(batch.live) == 1)
        loop.submit(ticket(waiting))
    assert (live.code(), waiting.code()) == ("UNAVAILABLE", "UNAVAILABLE")
    with pytest.raises(Refusal, match="the server is stopping"):
        loop.submit(ticket(Caller()))


def test_realtime_serves_one_after_the_other() -> None:
    callers, generator = [Caller() for _ in range(3)], StandInGenerator(free=False)
    with realtime(generator) as loop:
        tickets = [ticket(caller) for caller in callers]
        for one in tickets:
            loop.submit(one)
        until(lambda: generator.begun == tickets[:1])
        generator.let_token(3)
        assert callers[0].code() == "answered"
        until(lambda: generator.begun == tickets[:2])
        assert callers[1].outcome is None
        generator.run_free()
        assert [caller.code() for caller in callers] == ["answered"] * 3
    assert generator.begun == tickets


def test_realtime_fails_one_request_and_goes_on() -> None:
    bad, good, generator = Caller(), Caller(), StandInGenerator()
    with realtime(generator) as loop:
        generator.error = RuntimeError("cpu")
        loop.submit(ticket(bad))
        assert bad.code() == "INTERNAL"
        loop.submit(ticket(good))
        assert good.code() == "answered"


def test_realtime_ends_a_generation_whose_caller_has_gone() -> None:
    gone, never_begun, good, generator = Caller(), Caller(), Caller(), StandInGenerator(free=False)
    with realtime(generator) as loop:
        for caller in (gone, never_begun, good):
            loop.submit(ticket(caller, tokens=4))
        until(lambda: len(generator.begun) == 1)
        gone.gone = never_begun.gone = True
        generator.let_token()
        assert (gone.code(), never_begun.code()) == ("CANCELLED", "CANCELLED")
        generator.run_free()
        assert good.code() == "answered"
    assert [one.reply for one in generator.begun] == [gone, good]


def test_realtime_fails_what_is_left_when_it_is_closed() -> None:
    live, waiting, generator = Caller(), Caller(), StandInGenerator(free=False)
    with realtime(generator) as loop:
        loop.submit(ticket(live, tokens=10**9))
        until(lambda: len(generator.begun) == 1)
        loop.submit(ticket(waiting))
    assert (live.code(), waiting.code()) == ("UNAVAILABLE", "UNAVAILABLE")


def test_realtime_turns_away_what_can_not_wait() -> None:
    generator = StandInGenerator(free=False)
    with realtime(generator, waiting=1) as loop:
        loop.submit(ticket(Caller()))
        until(lambda: len(generator.begun) == 1)
        loop.submit(ticket(Caller()))
        with pytest.raises(Refusal, match="1 requests are waiting already"):
            loop.submit(ticket(Caller()))
