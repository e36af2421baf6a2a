"""Eventually right, then stable: one service from nothing, and what a user sees of it."""

from tests.simulation.services import NAMESPACE, SHARED_STORE, claim, service
from tests.simulation.world import World


async def test_a_service_comes_up_and_then_nothing_is_written() -> None:
    world = World()
    world.apply(service())
    await world.settle()
    assert world.failures == []
    assert world.condition("VerticalService", NAMESPACE, "poi-matching", of="Ready")[0] == "True"
    kinds = [body["kind"] for body in world.cluster.all() if body["kind"] not in {"Pod", "VerticalService"}]
    assert sorted(kinds) == sorted(
        [
            "PersistentVolumeClaim",
            "Engine",
            "Engine",
            "Job",
            "Job",
            "ConfigMap",
            "ConfigMap",
            "Deployment",
            "Deployment",
            "Service",
            "Service",
        ]
    )
    assert await world.writes_of_a_full_pass() == []


async def test_the_users_object_is_left_alone() -> None:
    world = World()
    before = world.apply(service())
    await world.settle()
    after = world.get("VerticalService", NAMESPACE, "poi-matching")
    assert after["spec"] == before["spec"]
    assert {k: v for k, v in after["metadata"].items() if k != "resourceVersion"} == {
        k: v for k, v in before["metadata"].items() if k != "resourceVersion"
    }


async def test_writes_to_bring_up_a_service_are_few() -> None:
    """1 claim, 2 x (Engine, its finalizer, Job, ConfigMap, Deployment, Service) and a few statuses; the rest would be waste."""
    world = World()
    world.apply(service())
    await world.settle()
    writes = world.cluster.writes()
    applied = sorted((write.kind, write.name) for write in writes if write.verb == "apply")
    assert len(applied) == 13, applied
    assert len([write for write in writes if write.verb == "patch_status"]) <= 14, [str(write) for write in writes]


async def test_two_services_with_the_same_model_share_engines() -> None:
    world = World()
    world.cluster.create(claim())
    world.apply(service("first", store=SHARED_STORE))
    await world.settle()
    jobs = len(world.cluster.all("Job"))
    world.apply(service("second", store=SHARED_STORE))
    await world.settle()
    assert len(world.cluster.all("Engine")) == 2
    assert len(world.cluster.all("Job")) == jobs
    for engine in world.cluster.all("Engine"):
        assert sorted(owner["name"] for owner in engine["metadata"]["ownerReferences"]) == ["first", "second"]
    for name in ("first", "second"):
        assert world.condition("VerticalService", NAMESPACE, name, of="Ready")[0] == "True"
    assert await world.writes_of_a_full_pass() == []
