"""Changes of a settled world that every campaign runs through: each must end as if nothing had gone wrong on the way."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.simulation.controllers import built, failing
from tests.simulation.services import NAMESPACE, SHARED_STORE, claim, service, variant
from tests.simulation.world import World
from vertical_engines.contract.build import BuildFailure
from vertical_engines.contract.reasons import Reason


def _nothing(_world: World) -> None:
    """An empty cluster."""


def _one(world: World) -> None:
    world.apply(service())


def _shared(world: World) -> None:
    world.cluster.create(claim())
    world.apply(service("first", store=SHARED_STORE))


def _two(world: World) -> None:
    _shared(world)
    world.apply(service("second", store=SHARED_STORE))


def _new_model(world: World) -> None:
    world.change("VerticalService", NAMESPACE, "poi-matching", change=lambda body: body["spec"]["model"].update(revision="2"))


def _new_pipeline(world: World) -> None:
    world.change(
        "VerticalService", NAMESPACE, "poi-matching", change=lambda body: body["spec"]["pipeline"]["image"].update(reference="pipeline:2")
    )


def _add_variant(world: World) -> None:
    extra = variant("bulk", batch=16, paged=True)
    world.change("VerticalService", NAMESPACE, "poi-matching", change=lambda body: body["spec"]["variants"].append(extra))


def _remove_variant(world: World) -> None:
    world.change("VerticalService", NAMESPACE, "poi-matching", change=lambda body: body["spec"]["variants"].pop())


def _scale(world: World) -> None:
    world.change(
        "VerticalService", NAMESPACE, "poi-matching", change=lambda b: b["spec"]["variants"][0]["placements"][0].update(replicas=3)
    )


def _delete(world: World) -> None:
    world.cluster.remove("VerticalService", NAMESPACE, "poi-matching")


def _delete_one_of_two(world: World) -> None:
    world.cluster.remove("VerticalService", NAMESPACE, "first")


def _second_service(world: World) -> None:
    world.apply(service("second", store=SHARED_STORE))


def _two_small(world: World) -> None:
    world.cluster.create(claim())
    for name in ("first", "second"):
        world.apply(service(name, store=SHARED_STORE, variants=[variant("background", batch=8, paged=True)]))


def _both_change(world: World) -> None:
    for name in ("first", "second"):
        world.change("VerticalService", NAMESPACE, name, change=lambda body: body["spec"]["model"].update(revision="2"))


def _delete_both(world: World) -> None:
    for name in ("first", "second"):
        world.cluster.remove("VerticalService", NAMESPACE, name)


def _delete_children(world: World) -> None:
    for kind in ("Deployment", "Service", "ConfigMap"):
        for body in world.cluster.all(kind):
            world.cluster.remove(kind, NAMESPACE, body["metadata"]["name"])


def _delete_engine(world: World) -> None:
    world.cluster.remove("Engine", NAMESPACE, world.cluster.all("Engine")[0]["metadata"]["name"])


def _drift(world: World) -> None:
    world.change(
        "Deployment",
        NAMESPACE,
        "poi-matching-realtime-cpu",
        change=lambda b: b["spec"]["template"]["spec"]["containers"][0].update(image="evil"),
    )
    world.change("Service", NAMESPACE, "poi-matching-realtime", change=lambda body: body["spec"].update(selector={"app": "evil"}))
    world.change("Deployment", NAMESPACE, "poi-matching-background-cpu", change=lambda body: body["metadata"]["labels"].clear())


def _recreate(world: World) -> None:
    """Deleted and made anew under the same name at once: children of the old one must not be taken for the new one's."""
    world.cluster.remove("VerticalService", NAMESPACE, "poi-matching")
    world.apply(service())


def _broken(world: World) -> None:
    world.controllers.builder = failing(BuildFailure(reason=Reason.MODEL_INVALID, message="no model in there"))
    world.apply(service())


def _correct(world: World) -> None:
    world.controllers.builder = built
    _new_model(world)


def _building(world: World) -> None:
    """Builds that do not end."""
    world.controllers.builds_end = False
    world.apply(service())


@dataclass(frozen=True)
class Scenario:
    """`start` is settled without faults; `act` is what happens while the fault is due."""

    name: str
    start: Callable[[World], None]
    act: Callable[[World], None]


SCENARIOS = (
    Scenario("create", _nothing, _one),
    Scenario("new-model", _one, _new_model),
    Scenario("new-pipeline", _one, _new_pipeline),
    Scenario("add-variant", _one, _add_variant),
    Scenario("remove-variant", _one, _remove_variant),
    Scenario("scale", _one, _scale),
    Scenario("delete", _one, _delete),
    Scenario("recreate", _one, _recreate),
    Scenario("second-service", _shared, _second_service),
    Scenario("delete-one-of-two", _two, _delete_one_of_two),
    Scenario("both-let-go-at-once", _two_small, _both_change),
    Scenario("delete-both", _two, _delete_both),
    Scenario("children-deleted", _one, _delete_children),
    Scenario("engine-deleted", _one, _delete_engine),
    Scenario("drift", _one, _drift),
    Scenario("broken-model-corrected", _broken, _correct),
    Scenario("delete-while-building", _building, _delete),
)
