"""What a user sees when something is in the way, and that it heals by itself once it is not."""

import asyncio
from typing import Any

import pytest

from tests.simulation.controllers import failing
from tests.simulation.services import NAMESPACE, SHARED_STORE, claim, service
from tests.simulation.world import World
from tests.support.memory_cluster import Request
from vertical_engines.contract.build import BuildFailure
from vertical_engines.contract.reasons import Reason
from vertical_operator.kube.failures import Terminal, Transient
from vertical_operator.runtime.controller import LASTING_FAILURES, Controller

NAME = "poi-matching"


def stalled(world: World, name: str = NAME) -> tuple[str, str, str]:
    return world.condition("VerticalService", NAMESPACE, name, of="Stalled")


def ready(world: World, name: str = NAME) -> str:
    return world.condition("VerticalService", NAMESPACE, name, of="Ready")[0]


async def test_an_object_of_somebody_else_is_not_touched_and_named() -> None:
    world = World()
    foreign = {"app": "theirs"}
    world.cluster.create(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": f"{NAME}-realtime", "namespace": NAMESPACE},
            "spec": {"selector": foreign, "ports": [{"port": 80}]},
        }
    )
    world.apply(service())
    await world.settle()
    status, reason, message = stalled(world)
    assert (status, reason) == ("True", "NotOwned")
    assert f"{NAME}-realtime" in message
    assert world.get("Service", NAMESPACE, f"{NAME}-realtime")["spec"]["selector"] == foreign
    assert await world.writes_of_a_full_pass() == []
    world.cluster.remove("Service", NAMESPACE, f"{NAME}-realtime")
    await world.pass_time(60)
    await world.settle()
    assert (ready(world), stalled(world)[0]) == ("True", "False")


async def test_a_refused_child_shows_the_servers_words_and_heals_without_an_edit() -> None:
    world = World()
    words = 'deployments.apps "x" is forbidden: exceeded quota: place'

    def quota(request: Request) -> None:
        if (request.verb, request.kind) == ("apply", "Deployment"):
            raise Terminal(words, code=403)

    world.cluster.before = quota
    world.apply(service())
    for _ in range(20):
        await world._round()
    status, reason, message = stalled(world)
    assert (status, reason) == ("True", "ChildRefused")
    assert words in message
    assert f"Deployment {NAME}-realtime-cpu" in message
    written = len([request for request in world.cluster.writes() if request.verb == "patch_status"])
    for _ in range(10):
        await world._round()
    assert len([request for request in world.cluster.writes() if request.verb == "patch_status"]) == written, "it is tried, not told, again"
    world.cluster.before = lambda _request: None
    await world.settle()
    assert (ready(world), stalled(world)[0]) == ("True", "False")


@pytest.mark.parametrize(("times", "shown"), [(2, False), (LASTING_FAILURES + 2, True)])
async def test_a_hiccup_is_not_shown_but_a_lasting_failure_is(times: int, shown: bool) -> None:
    world = World()
    left = times

    def down(request: Request) -> None:
        nonlocal left
        if request.verb == "apply" and request.kind == "Service" and left:
            left -= 1
            raise Transient('failed calling webhook "policy.example.com"', code=500)

    world.cluster.before = down
    world.apply(service())
    await world.settle()
    assert left == 0
    assert (("poi-matching", "Stalled", "True") in world.transitions) is shown
    assert (ready(world), stalled(world)[0]) == ("True", "False")


async def test_a_missing_gpu_is_named_with_what_there_is_and_a_new_node_heals_it() -> None:
    world = World()
    world.cluster.create(claim())
    world.cluster.create(node("NVIDIA-L40S"))
    body = service(store=SHARED_STORE)
    body["spec"]["toolchain"] = {"backend": "TensorRTLLM", "release": "24.09"}
    body["spec"]["variants"] = body["spec"]["variants"][:1]
    body["spec"]["variants"][0]["placements"][0]["accelerator"] = {"product": "Tesla-T4", "count": 1}
    world.apply(body)
    await world.settle()
    status, reason, message = stalled(world)
    assert (status, reason) == ("True", "NoMatchingGPU")
    assert "Tesla-T4" in message
    assert "NVIDIA-L40S" in message
    world.cluster.create(node("Tesla-T4"))
    await world.pass_time(60)
    await world.settle()
    assert (ready(world), stalled(world)[0]) == ("True", "False")


def node(product: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": product.lower(), "labels": {"nvidia.com/gpu.product": product}}}


async def test_a_spec_that_can_not_be_read_is_stalled_and_its_children_go_on() -> None:
    world = World()
    world.apply(service())
    await world.settle()
    before = world.picture()
    world.change("VerticalService", NAMESPACE, NAME, change=lambda body: body["spec"].update(variants=[]))
    await world.settle()
    assert stalled(world)[:2] == ("True", "InvalidSpec")
    assert "variants" in stalled(world)[2]
    children = {key: value for key, value in world.picture().items() if key[0] not in {"VerticalService", "Engine"}}
    assert children == {key: value for key, value in before.items() if key[0] not in {"VerticalService", "Engine"}}
    world.change("VerticalService", NAMESPACE, NAME, change=lambda body: body["spec"].update(variants=service()["spec"]["variants"]))
    await world.settle()
    assert world.picture() == before


async def test_while_a_new_model_can_not_be_built_the_old_one_serves() -> None:
    world = World()
    world.apply(service())
    await world.settle()
    deployments = {key: value for key, value in world.picture().items() if key[0] == "Deployment"}
    world.controllers.builder = failing(BuildFailure(reason=Reason.MODEL_INVALID, message="model.gguf is no GGUF file"))
    world.change("VerticalService", NAMESPACE, NAME, change=lambda body: body["spec"]["model"].update(revision="2"))
    await world.settle()
    assert ready(world) == "True"
    assert stalled(world)[:2] == ("True", "ModelInvalid")
    assert "model.gguf is no GGUF file" in stalled(world)[2]
    assert {key: value for key, value in world.picture().items() if key[0] == "Deployment"} == deployments
    assert await world.writes_of_a_full_pass() == []


async def test_two_operators_at_once_end_like_one() -> None:
    alone = World()
    alone.apply(service())
    await alone.settle()
    world = World()
    world.apply(service())
    first = world.controller.reconcile
    second = Controller(world.cluster, settings=world.settings, clock=lambda: world.now, report=lambda *_: None)

    async def both(key: Any, *, failures: int = 0) -> float | None:
        results = await asyncio.gather(first(key, failures=failures), second.reconcile(key, failures=failures))
        return results[0]

    world.controller.reconcile = both  # type: ignore[method-assign]
    await world.settle()
    assert world.picture() == alone.picture()
    assert await world.writes_of_a_full_pass() == []


async def test_only_what_is_worth_it_becomes_an_event() -> None:
    world = World()
    world.apply(service())
    await world.settle()
    about_service = [(kind, status) for name, kind, status in world.transitions if name == NAME]
    assert ("Ready", "True") in about_service
    assert about_service.count(("Ready", "True")) == 1
    assert about_service.count(("Stalled", "True")) == 0


async def test_an_engine_that_can_not_be_read_can_still_be_deleted() -> None:
    """As after a change of the schema: a finalizer that nobody takes off would hold the namespace for ever."""
    world = World()
    world.apply(service())
    await world.settle()
    name = world.cluster.all("Engine")[0]["metadata"]["name"]
    world.cluster.remove("VerticalService", NAMESPACE, NAME)
    world.cluster.update("Engine", NAMESPACE, name, change=lambda body: body["spec"].update(identity={"made": "by another release"}))
    await world.settle()
    assert world.cluster.all("Engine") == []


async def test_an_engine_that_two_services_let_go_of_at_once_goes() -> None:
    """Each sees the other as an owner: were both to take their reference off, nobody would be left to delete it."""
    world = World()
    world.cluster.create(claim())
    for name in ("first", "second"):
        world.apply(service(name, store=SHARED_STORE))
    await world.settle()
    before = {engine["metadata"]["name"] for engine in world.cluster.all("Engine")}
    for name in ("first", "second"):
        world.change("VerticalService", NAMESPACE, name, change=lambda body: body["spec"]["model"].update(revision="2"))
    await world.settle()
    after = {engine["metadata"]["name"] for engine in world.cluster.all("Engine")}
    assert len(before) == len(after) == 2
    assert before & after == set()
    assert world.failures, "they never met: the test proves nothing"
