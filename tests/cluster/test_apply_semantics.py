"""The rows of drift that the in-memory server is held to, on the real one: what `needs_apply` says must agree with what an apply does."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest

from tests.cluster.cluster import Cluster
from tests.support.drift_rows import ADDITIONS, CHANGES, DRIFTS, INTENT, NOT_REPAIRABLE, ONLY_IN_MEMORY, REMOVALS
from vertical_operator.kube.client import connect
from vertical_operator.kube.drift import needs_apply
from vertical_operator.kube.failures import Conflict, Terminal
from vertical_operator.kube.port import Manifest

ME = "vertical-operator"
ATTEMPTS = 20
Change = Callable[[Manifest], object]


class Real:
    """One Deployment on the real server, with the operator's own client."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster, self.namespace = cluster, namespace
        cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}}, namespace=namespace)
        found = cluster.get("configmap", "owner", namespace=namespace)
        assert found is not None
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": found["metadata"]["uid"], "controller": True}
        self.intent = deepcopy(INTENT)
        self.intent["metadata"] |= {"namespace": namespace, "ownerReferences": [reference]}

    def apply(self, intent: Manifest) -> Manifest:
        async def go() -> Manifest:
            async with await connect(kubeconfig=str(self._cluster.kubeconfig)) as server:
                return await server.apply(intent, field_manager=ME)

        return asyncio.run(go())

    def live(self) -> Manifest:
        async def go() -> Manifest | None:
            async with await connect(kubeconfig=str(self._cluster.kubeconfig)) as server:
                return await server.get("Deployment", namespace=self.namespace, name="d")

        found = asyncio.run(go())
        assert found is not None
        return found

    def reach(self, intent: Manifest) -> None:
        """Apply until no other apply is needed: twice at most, since taking the last field out of an object takes the object, too."""
        for _ in range(2):
            self.apply(intent)
            if not needs_apply(intent, self.live(), field_manager=ME):
                return
        raise AssertionError("a third apply would be needed")

    def replace(self, change: Change) -> None:
        """A PUT by somebody else, as `kubectl edit` ends in; again when a controller was faster."""

        async def go() -> None:
            async with await connect(kubeconfig=str(self._cluster.kubeconfig)) as server:
                for _ in range(ATTEMPTS):
                    body: Any = await server.get("Deployment", namespace=self.namespace, name="d")
                    change(body)
                    query = {"fieldManager": "somebody-else"}
                    with suppress(Conflict):
                        await server.request("update", "Deployment", namespace=self.namespace, name="d", query=query, body=body)
                        return
            raise AssertionError("the Deployment never stood still")

        asyncio.run(go())


@pytest.fixture
def real(cluster: Cluster, namespace: str) -> Any:
    world = Real(cluster, namespace)
    world.apply(world.intent)
    yield world
    cluster.kubectl("patch", "deployment", "d", "--type=merge", "-p", '{"metadata":{"finalizers":null}}', namespace=namespace)


def test_right_after_an_apply_no_other_is_needed_and_another_changes_nothing(real: Real) -> None:
    before = real.live()
    assert not needs_apply(real.intent, before, field_manager=ME)
    real.apply(real.intent)
    after = real.live()
    assert after["metadata"]["managedFields"][0] == before["metadata"]["managedFields"][0]
    assert after["metadata"]["generation"] == before["metadata"]["generation"]


def test_every_drift_is_seen_and_an_apply_repairs_it(real: Real) -> None:
    rows = {name: drift for name, drift in DRIFTS.items() if name not in ONLY_IN_MEMORY | NOT_REPAIRABLE}
    assert len(rows) > 15
    for name, drift in rows.items():
        real.replace(drift)
        assert needs_apply(real.intent, real.live(), field_manager=ME), name
        real.apply(real.intent)
        assert not needs_apply(real.intent, real.live(), field_manager=ME), f"{name} was not repaired"


@pytest.mark.parametrize("name", sorted(NOT_REPAIRABLE))
def test_a_drift_that_can_not_be_repaired_is_refused_in_the_servers_words(real: Real, name: str) -> None:
    real.replace(DRIFTS[name])
    assert needs_apply(real.intent, real.live(), field_manager=ME)
    with pytest.raises(Terminal, match="may not specify more than 1 volume type"):
        real.apply(real.intent)


def test_what_others_add_is_not_ours(real: Real) -> None:
    for name, addition in ADDITIONS.items():
        real.replace(addition)
        assert not needs_apply(real.intent, real.live(), field_manager=ME), name


@pytest.mark.parametrize("rows", [REMOVALS, CHANGES], ids=["removals", "changes"])
def test_a_changed_intent_is_reached_and_the_way_back_as_well(real: Real, rows: dict[str, Change]) -> None:
    for name, change in rows.items():
        if name == "new owner":
            continue  # its uid is no object's: the garbage collector takes the reference out again
        changed = deepcopy(real.intent)
        change(changed)
        assert needs_apply(changed, real.live(), field_manager=ME), name
        real.reach(changed)
        real.reach(real.intent)


def test_any_text_that_a_user_may_write_is_applied_as_it_is(real: Real) -> None:
    """Of every plane, and with every character that JSON and YAML escape in another way."""
    text = "".join(map(chr, (*range(0x20, 0xA1), 0x2028, 0x4E2D, 0xFEFF, 0xFFFD, 0x1F363, 0x10FFFF))) + "\t\r\n\\u0041\\ud83c"
    intent = deepcopy(real.intent)
    intent["metadata"]["annotations"] = {**intent["metadata"].get("annotations", {}), "example.com/text": text}
    real.apply(intent)
    assert real.live()["metadata"]["annotations"]["example.com/text"] == text
    assert not needs_apply(intent, real.live(), field_manager=ME)
