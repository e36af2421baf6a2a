"""Workers, resync and Events: what comes back when, and what is bounded."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.memory_cluster import MemoryCluster
from vertical_operator.kube.failures import ClusterFailure, Conflict, Gone, Terminal, Transient
from vertical_operator.kube.port import Manifest
from vertical_operator.runtime.events import BURST, REFILL_SECONDS, WAITING_LIMIT, EventRecorder, event_of
from vertical_operator.runtime.execute import ChildFailure
from vertical_operator.runtime.health import Vitals
from vertical_operator.runtime.keys import Key
from vertical_operator.runtime.metrics import Metrics
from vertical_operator.runtime.queue import FIRST_DELAY, LONGEST_DELAY, WorkQueue
from vertical_operator.runtime.resync import Resync
from vertical_operator.runtime.transitions import Transition
from vertical_operator.runtime.worker import Worker

KEY = Key("VerticalService", "n", "poi")


class Recording(WorkQueue[Key]):
    """Remembers what was put off, instead of waiting for it."""

    def __init__(self) -> None:
        super().__init__(jitter=lambda: 0.0)
        self.put_off: list[tuple[Key, float]] = []
        self.enough = asyncio.Event()
        self.wanted = 2

    def add_after(self, key: Key, seconds: float) -> None:
        self.put_off.append((key, seconds))
        if len(self.put_off) >= self.wanted:
            self.enough.set()


class Scripted:
    """A controller whose answers are given."""

    def __init__(self, *answers: float | Exception | None) -> None:
        self.answers = list(answers)
        self.failures: list[int] = []

    async def reconcile(self, key: Key, *, failures: int = 0) -> float | None:
        self.failures.append(failures)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def worked(controller: Scripted) -> tuple[Recording, Metrics]:
    queue, metrics = Recording(), Metrics()
    vitals = Vitals(clock=asyncio.get_running_loop().time, waiting=lambda: queue.depth, progressed_at=0.0)
    worker = Worker(queue, controller, metrics=metrics, vitals=vitals)  # type: ignore[arg-type]
    for _ in range(len(controller.answers)):
        queue.add(KEY)
        await worker.step()
    assert vitals.progressed_at > 0
    return queue, metrics


def results(metrics: Metrics) -> dict[str, float]:
    return {s.labels["result"]: s.value for m in metrics.reconciles.collect() for s in m.samples if s.name.endswith("_total")}


async def test_success_comes_back_when_the_plan_says_so() -> None:
    queue, metrics = await worked(Scripted(42.0, None))
    assert queue.put_off == [(KEY, 42.0)]
    assert results(metrics) == {"success": 2.0}


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (Transient("down", code=500), "transient"),
        (Conflict("modified", code=409), "conflict"),
        (Gone("not found", code=404), "conflict"),
        (Terminal("denied", code=422), "refused"),
        (ChildFailure("Deployment d", Terminal("denied", code=403)), "refused"),
        (ChildFailure("Deployment d", Transient("down")), "transient"),
        (TimeoutError(), "transient"),
        (ZeroDivisionError("bug"), "error"),
    ],
)
async def test_every_failure_comes_back_with_back_off_and_counts_as_what_it_is(error: Exception, result: str) -> None:
    controller = Scripted(error, error, error, None, error)
    queue, metrics = await worked(controller)
    delays = [seconds for _, seconds in queue.put_off]
    assert delays == [FIRST_DELAY, FIRST_DELAY * 2, FIRST_DELAY * 4, FIRST_DELAY], "a success starts the back-off over"
    assert controller.failures == [0, 1, 2, 3, 0]
    assert results(metrics) == {result: 4.0, "success": 1.0}


async def test_the_server_may_ask_for_more_time() -> None:
    queue, _ = await worked(
        Scripted(ChildFailure("Job j", Transient("busy", code=429, retry_after=30.0)), Transient("busy", retry_after=1e6))
    )
    assert [seconds for _, seconds in queue.put_off] == [30.0, LONGEST_DELAY]


async def test_only_what_nobody_foresaw_has_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        await worked(Scripted(Transient("down"), Terminal("no"), ZeroDivisionError("bug")))
    assert [record.levelname for record in caplog.records if record.exc_info] == ["ERROR"]


async def test_a_worker_that_is_cancelled_lets_the_key_go() -> None:
    queue = Recording()
    entered = asyncio.Event()

    class Hanging:
        async def reconcile(self, key: Key, *, failures: int = 0) -> float | None:
            entered.set()
            await asyncio.Event().wait()
            return None

    vitals = Vitals(clock=asyncio.get_running_loop().time, waiting=lambda: 0, progressed_at=0.0)
    worker = Worker(queue, Hanging(), metrics=Metrics(), vitals=vitals)  # type: ignore[arg-type]
    queue.add(KEY)
    task = asyncio.create_task(worker.run())
    await asyncio.wait_for(entered.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    queue.add(KEY)
    assert queue.depth == 1, "the key is not held by a worker that is gone"


def cluster_of(*names: str) -> MemoryCluster:
    cluster = MemoryCluster()
    for name in names:
        for kind in ("VerticalService", "Engine"):
            cluster.create(
                {
                    "apiVersion": "serving.vertical-operator.io/v1alpha1",
                    "kind": kind,
                    "metadata": {"name": name, "namespace": "n"},
                    "spec": {},
                }
            )
    return cluster


async def test_a_resync_that_was_asked_for_queues_everything_once() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    resync = Resync(cluster_of("a", "b"), queue, namespaces=[], interval=3600)
    task = asyncio.create_task(resync.run())
    for _ in range(3):
        resync.ask()
    keys = {await asyncio.wait_for(queue.get(), 10) for _ in range(4)}
    assert keys == {Key(kind, "n", name) for kind in ("VerticalService", "Engine") for name in ("a", "b")}
    assert queue.depth == 0
    task.cancel()


async def test_the_routine_resync_comes_by_itself_and_spreads_its_load() -> None:
    queue = Recording()
    resync = Resync(cluster_of("a"), queue, namespaces=["n"], interval=0.05)
    task = asyncio.create_task(resync.run())
    await asyncio.wait_for(queue.enough.wait(), 5)
    assert all(0 <= seconds <= 0.005 for _, seconds in queue.put_off)
    task.cancel()


async def test_a_resync_that_fails_is_tried_again() -> None:
    cluster = cluster_of("a")
    failures = iter([Transient("down")])

    def fail(_request: object) -> None:
        if (failure := next(failures, None)) is not None:
            raise failure

    cluster.before = fail
    queue = Recording()
    task = asyncio.create_task(Resync(cluster, queue, namespaces=[], interval=0.02).run())
    await asyncio.wait_for(queue.enough.wait(), 5)
    task.cancel()


ABOUT: Manifest = {
    "apiVersion": "serving.vertical-operator.io/v1alpha1",
    "kind": "VerticalService",
    "metadata": {"name": "poi", "namespace": "n", "uid": "u1", "resourceVersion": "7"},
}


def transition(**changes: Any) -> Transition:
    base = {"type": "Ready", "status": "True", "reason": "Ready", "message": "serves", "since": "2026-01-01T00:00:00Z", "previous": "False"}
    return Transition(**(base | changes))


def recorder(send: Callable[[Manifest], Any], clock: Callable[[], float] = lambda: 0.0) -> EventRecorder:
    async def sender(event: Manifest) -> object:
        return send(event)

    return EventRecorder(sender, instance="pod-1", clock=clock)


async def test_an_event_is_sent_in_the_background() -> None:
    sent: list[Manifest] = []
    events = recorder(sent.append)
    assert events.record(ABOUT, transition())
    assert sent == []
    task = asyncio.create_task(events.run())
    await asyncio.wait_for(events.sent(), 5)
    task.cancel()
    (event,) = sent
    assert (event["type"], event["reason"], event["note"], event["regarding"]["uid"]) == ("Normal", "Ready", "serves", "u1")
    assert event["metadata"]["namespace"] == "n"
    assert event["eventTime"] == "2026-01-01T00:00:00.000000Z"


def test_the_same_transition_gives_the_same_event_and_another_one_another() -> None:
    first = event_of(ABOUT, transition(), instance="a")
    assert event_of(ABOUT, transition(), instance="a") == first
    others = [transition(since="2026-01-01T00:00:01Z"), transition(status="False"), transition(reason="Other"), transition(type="Stalled")]
    names = {event_of(ABOUT, other, instance="a")["metadata"]["name"] for other in others}
    assert len(names | {first["metadata"]["name"]}) == 5


def test_a_long_message_is_cut_to_what_the_server_takes() -> None:
    assert len(event_of(ABOUT, transition(message="x" * 1024), instance="a")["note"]) == 1024
    for letter in ("x", "é", "中", "🍣"):
        note = event_of(ABOUT, transition(message=letter * 5000), instance="a")["note"]
        assert 1024 - 4 < len(note.encode()) <= 1024, letter
        assert note.strip(letter) == "…"


async def test_an_event_that_is_refused_does_not_stop_the_next() -> None:
    sent: list[str] = []

    def send(event: Manifest) -> None:
        sent.append(event["reason"])
        if len(sent) == 1:
            raise Terminal("forbidden", code=403)

    events = recorder(send)
    events.record(ABOUT, transition(reason="A"))
    events.record(ABOUT, transition(reason="B"))
    task = asyncio.create_task(events.run())
    await asyncio.wait_for(events.sent(), 5)
    task.cancel()
    assert sent == ["A", "B"]


async def test_a_flapping_object_runs_out_of_events_and_gets_one_a_minute() -> None:
    now = [0.0]
    events = recorder(lambda _event: None, lambda: now[0])
    assert sum(events.record(ABOUT, transition(reason=f"R{i}")) for i in range(BURST * 3)) == BURST
    other = {**ABOUT, "metadata": {**ABOUT["metadata"], "uid": "u2"}}
    assert events.record(other, transition()), "another object has its own budget"
    now[0] += REFILL_SECONDS
    assert [events.record(ABOUT, transition()), events.record(ABOUT, transition())] == [True, False]


async def test_events_that_can_not_be_sent_do_not_pile_up() -> None:
    events = recorder(lambda _event: None)
    objects = [{**ABOUT, "metadata": {**ABOUT["metadata"], "uid": f"u{i}"}} for i in range(WAITING_LIMIT + 10)]
    assert sum(events.record(about, transition()) for about in objects) == WAITING_LIMIT


async def test_failures_are_told_apart_from_bugs() -> None:
    assert issubclass(Gone, ClusterFailure)
    assert not issubclass(ChildFailure, ClusterFailure)
