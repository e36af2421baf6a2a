"""A whole cluster in memory with the operator's own reconcile in it, driven by watch events, timers and nothing else."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.simulation.controllers import Controllers
from tests.support.memory_cluster import MemoryCluster, Request
from vertical_operator.core.settings import OperatorSettings
from vertical_operator.kube.failures import ClusterFailure
from vertical_operator.kube.port import Manifest
from vertical_operator.runtime.controller import Controller
from vertical_operator.runtime.execute import ChildFailure
from vertical_operator.runtime.fanout import Fanout
from vertical_operator.runtime.keys import OWN_KINDS, Key, keys_of

ROUND = timedelta(seconds=5)
QUIET_ROUNDS = 3
MOST_ROUNDS = 200
VOLATILE = frozenset(
    {"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "lastTransitionTime", "observedGeneration", "startTime"}
)


class Crash(BaseException):
    """The operator's process ends here: nothing in it may catch this."""


class World:
    """Events of the cluster fill the queue, as the watches do; a crash empties it and starts over with every object, as a restart does."""

    def __init__(self, *, settings: OperatorSettings | None = None, cluster: MemoryCluster | None = None) -> None:
        self.cluster = cluster or MemoryCluster()
        self.controllers = Controllers(self.cluster)
        self.settings = settings or OperatorSettings()
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.crashes = 0
        self.failures: list[Exception] = []
        self.transitions: list[tuple[str, str, str]] = []
        self._pending: dict[Key, int] = {}
        self._wakes: dict[Key, datetime] = {}
        self._fanout = Fanout()
        self.cluster.listeners.append(lambda event, body: self._add(*self._fanout.keys(event, body)))
        self._start_process()

    def copy(self) -> "World":
        """A world that goes on from here, with an operator that has just started and has looked at everything."""
        other = World(settings=self.settings, cluster=self.cluster.copy())
        other.now = self.now
        other.controllers.builder, other.controllers.builds_end = self.controllers.builder, self.controllers.builds_end
        other._pending.clear()
        return other

    def apply(self, manifest: Manifest) -> Manifest:
        """As a user's `kubectl apply --server-side`."""
        return self.cluster.create(manifest)

    def change(self, kind: str, namespace: str, name: str, *, change: Callable[[Manifest], object]) -> None:
        """As a user's edit."""
        self.cluster.update(kind, namespace, name, change=change)

    async def settle(self) -> None:
        """Let everything run until nothing has moved for some rounds; fails when that takes too long."""
        quiet = 0
        for _ in range(MOST_ROUNDS):
            quiet = 0 if await self._round() else quiet + 1
            if quiet >= QUIET_ROUNDS:
                return
        raise AssertionError(f"the world did not settle in {MOST_ROUNDS} rounds; the last failures: {self.failures[-3:]}")

    async def pass_time(self, seconds: float) -> None:
        """Let the clock run on; timers fire, the world moves."""
        until = self.now + timedelta(seconds=seconds)
        while self.now < until:
            await self._round()

    async def writes_of_a_full_pass(self) -> list[Request]:
        """What a resync of everything writes; an empty list is what makes a world stable."""
        before = len(self.cluster.writes())
        self._add_everything()
        await self._work()
        return self.cluster.writes()[before:]

    def get(self, kind: str, namespace: str, name: str) -> Manifest:
        body = self.cluster.find(kind, namespace, name)
        assert body is not None, f"no {kind} {name}; there are {[b['metadata']['name'] for b in self.cluster.all(kind)]}"
        return body

    def condition(self, kind: str, namespace: str, name: str, *, of: str) -> tuple[str, str, str]:
        """Status, reason and message of a condition."""
        found = next(c for c in self.get(kind, namespace, name)["status"]["conditions"] if c["type"] == of)
        return found["status"], found["reason"], found["message"]

    def picture(self) -> dict[tuple[str, str], Any]:
        """Everything but pods, without what differs between two runs that end alike: uids, versions and times."""
        names = {body["metadata"]["uid"]: body["metadata"]["name"] for body in self.cluster.all()}
        return {(body["kind"], body["metadata"]["name"]): _plain(body, names) for body in self.cluster.all() if body["kind"] != "Pod"}

    async def _round(self) -> bool:
        version, writes = self.cluster.version, len(self.cluster.writes())
        await self._work()
        self.controllers.step()
        self.now += ROUND
        self.cluster.now = self.now.strftime("%Y-%m-%dT%H:%M:%SZ")
        self._add(*(key for key, at in self._wakes.items() if at <= self.now))
        return self.cluster.version != version or len(self.cluster.writes()) != writes or bool(self._pending)

    async def _work(self) -> None:
        """Every key that waits now, each once and all side by side, as several workers do it. A crash ends them all."""
        tasks = [asyncio.create_task(self._reconcile(key)) for key in list(self._pending)]
        if not tasks:
            return
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        if any(isinstance(end, Crash) for end in ends):
            self.crashes += 1
            self._start_process()
        for end in ends:
            if isinstance(end, Exception):
                raise end

    async def _reconcile(self, key: Key) -> None:
        failures = self._pending.pop(key)
        self._wakes.pop(key, None)
        try:
            wake = await self.controller.reconcile(key, failures=failures)
        except (ClusterFailure, ChildFailure) as error:
            self.failures.append(error)
            self._pending[key] = failures + 1
        else:
            if wake is not None:
                self._wakes[key] = self.now + timedelta(seconds=wake)

    def _start_process(self) -> None:
        self._pending.clear()
        self._wakes.clear()
        self._fanout = Fanout()
        self.controller = Controller(self.cluster, settings=self.settings, clock=lambda: self.now, report=self._report)
        self._add_everything()

    def _add_everything(self) -> None:
        self._add(*(key for kind in OWN_KINDS for body in self.cluster.all(kind) for key in keys_of(body)))

    def _add(self, *keys: Key) -> None:
        for key in sorted(keys):
            self._pending.setdefault(key, 0)

    def _report(self, about: Manifest, transition: Any) -> None:
        self.transitions.append((about["metadata"]["name"], transition.type, transition.status))


def _plain(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {
            key: _plain(item, names) for key, item in value.items() if key not in VOLATILE or (key == "uid" and "metadata" not in value)
        }
    if isinstance(value, list):
        # Which of two owners came first is of no matter.
        return sorted(
            (_plain(item, names) for item in value), key=lambda item: item["name"] if isinstance(item, dict) and "uid" in item else ""
        )
    if isinstance(value, str) and value.startswith("uid-"):
        return names.get(value, "gone")
    return value
