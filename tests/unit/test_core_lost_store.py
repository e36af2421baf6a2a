"""The claim of an engine store is deleted by hand, or replaced: what was built into it is made anew, and nobody waits for ever."""

from typing import Any

import pytest

from tests.support import live
from tests.support.live import NOW, SETTINGS, at, owned_service
from tests.support.objects import service
from vertical_operator.core.intents import Manifest, Plan
from vertical_operator.core.observed import ObservedService
from vertical_operator.core.plan import plan

OWNER = owned_service(service(("spec.engineStore", {"volumeClaimTemplate": {"size": "1Gi"}})))
CLAIM = "reviews-engines"


def world(*, claim: Manifest | None, engine: bool = True, built: float = -30) -> list[Manifest]:
    """Everything serves, built so many seconds ago; the claim's metadata changed, None: it is gone."""
    objects = live.serving(OWNER)
    for content in objects:
        if content["kind"] == "Engine":
            content["status"]["conditions"].append(live.condition("Built", "True", "Built") | {"lastTransitionTime": at(built)})
        if content["kind"] == "PersistentVolumeClaim":
            content["metadata"] |= claim or {}
    gone = {*(() if engine else ("Engine",)), *(() if claim is not None else ("PersistentVolumeClaim",))}
    return [content for content in objects if content["kind"] not in gone]


def planned(objects: list[Manifest]) -> Plan:
    return plan(OWNER, ObservedService.of(objects), settings=SETTINGS, now=NOW)


def condition(result: Plan, kind: str) -> tuple[str, str, str]:
    assert result.status is not None
    return next((c["status"], c["reason"], c["message"]) for c in result.status["conditions"] if c["type"] == kind)


def kinds(written: Any) -> list[str]:
    return [each.manifest["kind"] for each in written]


def engines_deleted(result: Plan) -> list[str]:
    return [delete.uid for delete in result.deletes if delete.ref.kind.name == "Engine" and delete.resource_version]


@pytest.mark.parametrize("since", [10, 3600])
def test_a_claim_that_is_being_deleted_lets_the_engine_go_and_is_told(since: int) -> None:
    """The pods of its build hold the claim, even ended: nothing could go on otherwise."""
    result = planned(world(claim={"deletionTimestamp": at(-since)}))
    (engine,) = (content for content in world(claim={}) if content["kind"] == "Engine")
    assert engines_deleted(result) == [engine["metadata"]["uid"]]
    assert "Engine" not in kinds(result.applies)
    assert condition(result, "Ready")[0] == "True"
    kind, reason = ("Reconciling", "WaitingForStore") if since < SETTINGS.store_deadline else ("Stalled", "StoreUnavailable")
    assert condition(result, kind)[:2] == ("True", reason)
    assert f"{CLAIM} of the engine store is being deleted" in condition(result, kind)[2]
    assert result.wake_after is not None
    assert result.wake_after <= SETTINGS.patience


def test_no_engine_is_made_for_a_claim_that_goes() -> None:
    result = planned(world(claim={"deletionTimestamp": at(-10)}, engine=False))
    assert not {"Engine", "Deployment", "ConfigMap"} & set(kinds(result.applies))
    assert engines_deleted(result) == []


def test_the_claim_is_made_again_when_it_has_gone() -> None:
    result = planned(world(claim=None, engine=False))
    assert {"PersistentVolumeClaim", "Engine"} <= set(kinds(result.applies))


def test_an_engine_that_was_built_into_a_former_claim_is_made_anew() -> None:
    result = planned(world(claim={"creationTimestamp": at(-20)}))
    assert len(engines_deleted(result)) == 1
    assert condition(result, "Ready")[0] == "True"
    assert condition(result, "Reconciling")[:2] == ("True", "WaitingForEngine")
    assert "newer than Engine" in condition(result, "Reconciling")[2]


@pytest.mark.parametrize("created", [-3600, -31, -30])
def test_an_engine_in_the_claim_that_it_was_built_into_stays(created: float) -> None:
    result = planned(world(claim={"creationTimestamp": at(created)}))
    assert result.deletes == ()
    assert condition(result, "Ready")[0] == "True"
    assert condition(result, "Reconciling")[0] == condition(result, "Stalled")[0] == "False"


def test_a_lost_engine_of_others_is_not_deleted_but_owned_first() -> None:
    objects = world(claim={"creationTimestamp": at(-20)})
    for content in objects:
        if content["kind"] == "Engine":
            content["metadata"]["ownerReferences"][0]["uid"] = "uid-other"
    result = planned(objects)
    assert engines_deleted(result) == []
    assert "Engine" in kinds(result.applies)
