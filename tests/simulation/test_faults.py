"""Campaigns over every write of every scenario: a crash around it, and over its requests: each failure of the API server.

The oracle is the run without a fault: the same end, and a pass over everything writes nothing more. A campaign whose fault was
never reached fails.
"""

from collections.abc import Callable
from typing import Any

import pytest

from tests.simulation.scenarios import SCENARIOS, Scenario
from tests.simulation.world import Crash, World
from tests.support.memory_cluster import Request
from vertical_operator.kube.failures import Conflict, Gone, Terminal, Transient
from vertical_operator.runtime.execute import ChildFailure

STARTS: dict[str, World] = {}
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}


async def started(scenario: Scenario) -> World:
    """The settled start of a scenario, made once and copied."""
    if scenario.name not in STARTS:
        world = World()
        scenario.start(world)
        await world.settle()
        assert world.failures == []
        STARTS[scenario.name] = world
    return STARTS[scenario.name].copy()


async def reference(scenario: Scenario) -> tuple[dict[Any, Any], int, int, int]:
    """End of the run without a fault, how many writes and requests it took, and how many writes were done."""
    world = await started(scenario)
    scenario.act(world)
    done: list[Request] = []
    world.cluster.after = lambda request: done.append(request) if request.is_write else None
    await world.settle()
    # Two services may meet at an engine that both let go of; nothing else goes wrong by itself.
    assert all(isinstance(error, ChildFailure) and isinstance(error.failure, Conflict) for error in world.failures)
    writes, requests = len(world.cluster.writes()), len(world.cluster.requests)
    assert await world.writes_of_a_full_pass() == []
    return world.picture(), writes, requests, len(done)


def at(number: int, raise_it: Callable[[Request], None], *, writes_only: bool = True) -> tuple[Callable[[Request], None], list[Request]]:
    """A hook that strikes once, at the given write (or request), and the list of what it struck."""
    struck: list[Request] = []
    count = 0

    def hook(request: Request) -> None:
        nonlocal count
        if writes_only and not request.is_write:
            return
        if count == number:
            count += 1
            struck.append(request)
            raise_it(request)
        count += 1

    return hook, struck


def crash(_request: Request) -> None:
    raise Crash


@pytest.mark.parametrize("name", BY_NAME)
async def test_a_crash_at_any_write_changes_nothing_of_the_end(name: str) -> None:
    """Before each write, and after the last: after one and before the next is the same world, since a crash takes all memory."""
    scenario = BY_NAME[name]
    expected, writes, _, done = await reference(scenario)
    # The garbage collector alone cleans up after a service whose engines are shared.
    assert writes > 0 or name == "delete-one-of-two", "a scenario without writes proves nothing"
    points = [("before", number) for number in range(writes)] + ([("after", done - 1)] if done else [])
    for when, number in points:
        world = await started(scenario)
        scenario.act(world)
        hook, struck = at(number, crash)
        setattr(world.cluster, when, hook)
        await world.settle()
        assert len(struck) == world.crashes == 1, f"write {number} of {writes} was never reached"
        assert world.picture() == expected, f"crash {when} write {number}: {struck[0]}"
        assert await world.writes_of_a_full_pass() == [], f"not stable after a crash {when} write {number}: {struck[0]}"


def failing(failure: Callable[[], Exception]) -> Callable[[Request], None]:
    def fail(_request: Request) -> None:
        raise failure()

    return fail


STRIDE = 11
"""Every eleventh request: prime to the number of kinds of failures, so that each kind meets each sort of request."""

FAILURES = {
    name: failing(failure)
    for name, failure in {
        "conflict": lambda: Conflict("the object has been modified", code=409),
        "throttled": lambda: Transient("too many requests", code=429, retry_after=1),
        "server error": lambda: Transient("etcdserver: request timed out", code=500),
        "no answer": lambda: Transient("no answer from the API server"),
        "refused": lambda: Terminal("denied by a webhook", code=403),
        "gone": lambda: Gone("namespaces not found", code=404),
    }.items()
}


@pytest.mark.parametrize("name", BY_NAME)
async def test_one_failure_at_any_request_heals(name: str) -> None:
    """Reads and writes alike, the kinds of failure in turn; with a lost answer the write was done all the same."""
    scenario = BY_NAME[name]
    expected, _, requests, _ = await reference(scenario)
    injected = 0
    for number in range(0, requests, STRIDE):
        failure, fail = list(FAILURES.items())[number % len(FAILURES)]
        world = await started(scenario)
        scenario.act(world)
        hook, struck = at(number, fail, writes_only=False)
        setattr(world.cluster, "after" if failure == "no answer" else "before", hook)
        await world.settle()
        injected += len(struck)
        assert world.picture() == expected, f"{failure} at request {number}: {struck}"
        assert await world.writes_of_a_full_pass() == [], f"not stable after {failure} at request {number}: {struck}"
    assert injected > 0, "the campaign injected nothing"
