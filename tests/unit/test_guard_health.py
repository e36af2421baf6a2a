"""The guard's verdicts as a table: what was observed, and what the three probes say then."""

from collections.abc import Callable

import pytest

from vertical_engines.guard.health import (
    Health,
    after_absence,
    after_answer,
    after_error,
    after_objection,
    after_silence,
    drained,
)

Step = Callable[[Health], Health]


def answer(now: float) -> Step:
    return lambda health: after_answer(health, now=now)


def silence(now: float, successes: int | None) -> Step:
    return lambda health: after_silence(health, now=now, successes=successes, dead_after=60)


def error(health: Health) -> Health:
    return after_error(health, why="HTTP 500: Stub process is not healthy.")


def objection(health: Health) -> Health:
    return after_objection(health, why="HTTP 400: name: Field required")


def absence(health: Health) -> Health:
    return after_absence(health, why="connection refused")


# name: steps, then (started, ready, live)
TABLE: dict[str, tuple[list[Step], tuple[bool, bool, bool]]] = {
    "not looked yet": ([], (False, False, True)),
    "not up yet": ([absence, absence, absence], (False, False, True)),
    "answered": ([absence, answer(1)], (True, True, True)),
    "one error is an accident": ([answer(1), error], (True, True, True)),
    "two errors in a row are death": ([answer(1), error, error], (False, False, False)),
    "an answer between them is not": ([answer(1), error, answer(2), error], (True, True, True)),
    "a restarted guard finds a dead stub": ([error, error], (False, False, False)),
    "an objection before the first answer is no death": ([objection, objection, objection], (False, False, True)),
    "objections after an answer are": ([answer(1), objection, objection], (False, False, False)),
    "late while others are answered is busy": (
        [answer(0), silence(30, 5), silence(60, 6), silence(119, 7), silence(178, 8)],
        (True, True, True),
    ),
    "late with nothing answered, not long enough": ([answer(0), silence(30, 5), silence(60, 5)], (True, True, True)),
    "late with nothing answered for too long": ([answer(0), silence(30, 5), silence(61, 5)], (False, False, False)),
    "late and no metrics to be had": ([answer(0), silence(30, None), silence(61, None)], (False, False, False)),
    "a busy server may fail as well": ([answer(0), silence(10, 5), error, silence(11, 6), error], (False, False, False)),
    "late from the start on, then dead": ([silence(0, 0), silence(30, 0), silence(61, 0)], (False, False, False)),
    "late from the start on, but at work": ([silence(0, 0), silence(50, 1), silence(100, 2)], (False, False, True)),
    "the process has ended": ([answer(1), absence], (False, False, True)),
    "a dead server was replaced": ([answer(1), error, error, absence, answer(9)], (True, True, True)),
    "draining": ([answer(1), drained], (True, False, True)),
    "draining, and still answering": ([answer(1), drained, answer(2), answer(3)], (True, False, True)),
    "drained and ended": ([answer(1), drained, absence], (False, False, True)),
    "a new server after a drain": ([answer(1), drained, absence, answer(9)], (True, True, True)),
    "a dead one is not drained, its successor serves": ([answer(1), error, error, drained, absence, answer(9)], (True, True, True)),
    "asked to drain before it was up": ([absence, drained, absence, answer(1)], (True, True, True)),
}


@pytest.mark.parametrize("case", TABLE)
def test_verdict(case: str) -> None:
    steps, verdict = TABLE[case]
    health = Health()
    for step in steps:
        health = step(health)
    assert (health.started, health.ready, health.live) == verdict


def test_the_reason_says_how_long_nothing_came() -> None:
    health = silence(75, 3)(silence(30, 3)(answer(0)(Health())))
    assert health.why == "nothing was answered for 75 s"
    assert health.lifeless_for(80) == 80
