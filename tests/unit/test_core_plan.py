"""Plans for a VerticalService, from the state of the world to applies, deletes and status."""

import copy
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from tests.support import live
from tests.support.live import NOW, SETTINGS, UID, owned_service
from tests.support.objects import VARIANT, service
from vertical_engines.contract.reasons import Reason
from vertical_operator.api.v1alpha1 import VerticalService
from vertical_operator.core.intents import Delete, Manifest, Plan
from vertical_operator.core.observed import ObservedService
from vertical_operator.core.plan import plan

PLACEMENT = f"{VARIANT}.placements.0"
T4 = [("spec.toolchain", {"backend": "TensorRTLLM", "release": "24.09"}), (f"{PLACEMENT}.accelerator", {"product": "Tesla-T4"})]
OWN_STORE = ("spec.engineStore", {"volumeClaimTemplate": {"size": "1Gi"}})


def wanted(*changes: tuple[str, Any], generation: int = 1) -> VerticalService:
    return owned_service(service(*changes), generation=generation)


def planned(owner: VerticalService, objects: Sequence[Manifest], *, later: float = 0) -> Plan:
    return plan(owner, ObservedService.of(objects), settings=SETTINGS, now=NOW + timedelta(seconds=later))


def applies(result: Plan) -> list[str]:
    return [f"{a.manifest['kind']} {a.manifest['metadata']['name']}" for a in result.applies]


def deleted(result: Plan) -> list[str]:
    return [str(delete.ref) for delete in result.deletes]


def condition(result: Plan, kind: str) -> tuple[str, str, str]:
    assert result.status is not None
    found = next(c for c in result.status["conditions"] if c["type"] == kind)
    return found["status"], found["reason"], found.get("message", "")


def only(objects: Sequence[Manifest], kind: str) -> Manifest:
    (found,) = (content for content in objects if content["kind"] == kind)
    return found


def without(objects: Sequence[Manifest], *kinds: str) -> list[Manifest]:
    return [content for content in objects if content["kind"] not in kinds]


def engine_name(owner: VerticalService) -> str:
    (engine,) = live.applied(owner, [], "Engine")
    return str(engine["metadata"]["name"])


def test_first_visit_makes_store_engine_and_address_and_says_what_it_waits_for() -> None:
    owner = wanted(OWN_STORE)
    result = planned(owner, [])
    assert applies(result) == ["PersistentVolumeClaim reviews-engines", f"Engine {engine_name(owner)}", "Service reviews-realtime"]
    assert [a.manager for a in result.applies] == ["vertical-operator", "vertical-operator/reviews", "vertical-operator"]
    assert condition(result, "Reconciling")[:2] == ("True", "WaitingForEngine")
    assert condition(result, "Ready")[0] == "False"
    assert result.status is not None
    assert {c["type"] for c in result.status["conditions"]} == {"Ready", "Reconciling", "Stalled", "EnginesReady", "Available"}
    assert all(c["observedGeneration"] == 1 for c in result.status["conditions"])
    assert (result.status["variantsReady"], result.status["enginesReady"]) == ("0/1", "0/1")


def test_no_deployment_before_its_engine() -> None:
    owner = wanted()
    objects = [live.stored(manifest) for manifest in live.applied(owner, [], "Engine")]
    assert live.applied(owner, objects, "Deployment") == []
    objects = [live.built_engine(manifest) for manifest in live.applied(owner, [], "Engine")]
    assert len(live.applied(owner, objects, "Deployment")) == 1


def test_all_well_and_the_second_pass_is_the_same() -> None:
    owner = wanted()
    objects = live.serving(owner)
    result = planned(owner, objects)
    assert condition(result, "Ready") == ("True", "Ready", "every placement serves")
    assert condition(result, "Reconciling")[0] == condition(result, "Stalled")[0] == "False"
    assert result.wake_after is None
    assert result.deletes == ()
    assert result.status is not None
    assert (result.status["reason"], result.status["variantsReady"], result.status["enginesReady"]) == ("Ready", "1/1", "1/1")
    (variant,) = result.status["variants"]
    assert variant["address"] == "reviews-realtime.default.svc:8000"
    assert variant["placements"][0]["desiredEngine"] == variant["placements"][0]["servingEngine"] != ""
    content = service() | {"status": result.status}
    again = planned(owned_service(content), objects, later=3600)
    assert again.status == result.status
    assert [a.manifest for a in again.applies] == [a.manifest for a in result.applies]


def test_a_new_model_leaves_the_old_revision_serving_until_the_new_one_is_built() -> None:
    before, after = wanted(), wanted(("spec.model.revision", "2"), generation=2)
    objects = live.serving(before)
    result = planned(after, objects)
    assert engine_name(before) != engine_name(after)
    assert applies(result) == [f"Engine {engine_name(after)}", "Service reviews-realtime"]
    assert result.deletes == ()
    assert condition(result, "Ready")[0] == "True"
    assert condition(result, "Reconciling")[:2] == ("True", "WaitingForEngine")
    assert condition(result, "EnginesReady")[0] == "False"


def test_a_failed_new_build_is_stalled_while_the_old_revision_serves() -> None:
    before, after = wanted(), wanted(("spec.model.revision", "2"), generation=2)
    (new,) = live.applied(after, [], "Engine")
    objects = [*live.serving(before), live.stalled_engine(new, Reason.MODEL_NOT_FOUND, "model image has no /x")]
    result = planned(after, objects)
    assert condition(result, "Ready")[0] == "True"
    assert condition(result, "Stalled")[:2] == ("True", "ModelNotFound")
    assert "model image has no /x" in condition(result, "Stalled")[2]
    assert condition(result, "Reconciling")[0] == "False"
    assert result.status is not None
    assert result.status["reason"] == "ModelNotFound"
    assert result.deletes == ()


def test_the_old_engine_goes_when_no_pod_serves_it_any_more() -> None:
    before, after = wanted(), wanted(("spec.model.revision", "2"), generation=2)
    old = live.serving(before)
    (new,) = live.applied(after, [], "Engine")
    objects = [*without(old, "Deployment"), live.built_engine(new)]
    (deployment,) = live.applied(after, objects, "Deployment")
    (config,) = live.applied(after, objects, "ConfigMap")
    objects += [live.rolled_out(deployment), live.stored(config)]
    lingering = live.pod_of(only(old, "Deployment"), phase="Running")
    assert deleted(planned(after, [*objects, lingering])) == []
    assert planned(after, [*objects, lingering]).wake_after == SETTINGS.patience
    result = planned(after, objects)
    old_map = only([content for content in old if content["kind"] == "ConfigMap"], "ConfigMap")["metadata"]["name"]
    assert deleted(result) == [f"ConfigMap {old_map}", f"Engine {engine_name(before)}"]
    assert [delete.resource_version for delete in result.deletes] == [None, "7"]


def test_a_shared_engine_is_let_go_not_deleted() -> None:
    before, after = wanted(), wanted(("spec.model.revision", "2"), generation=2)
    other = {"apiVersion": "serving.vertical-operator.io/v1alpha1", "kind": "VerticalService", "name": "other", "uid": "uid-other"}
    (old,) = live.applied(before, [], "Engine")
    shared = live.built_engine(old)
    shared["metadata"]["ownerReferences"] = [*shared["metadata"]["ownerReferences"], other]
    result = planned(after, [shared])
    assert result.deletes == ()
    released = next(a for a in result.applies if a.manifest["metadata"]["name"] == old["metadata"]["name"])
    assert released.manager == "vertical-operator/reviews"
    assert "ownerReferences" not in released.manifest["metadata"]
    assert released.manifest["metadata"]["uid"] == shared["metadata"]["uid"]
    assert "scheduling" not in released.manifest["spec"]


def test_the_first_owner_decides_scheduling() -> None:
    owner = wanted((f"{PLACEMENT}.nodeSelector", {"pool": "mine"}))
    (made,) = live.applied(owner, [], "Engine")
    theirs = live.built_engine(made)
    mine = theirs["metadata"]["ownerReferences"]
    theirs["metadata"]["ownerReferences"] = [{**mine[0], "name": "other", "uid": "uid-other"}, *mine]
    theirs["spec"]["scheduling"] = {"nodeSelector": {"pool": "theirs"}}
    (again,) = live.applied(owner, [theirs], "Engine")
    assert again["spec"]["scheduling"] == {"nodeSelector": {"pool": "theirs"}}
    assert again["metadata"]["ownerReferences"] == mine
    assert made["spec"]["scheduling"] == {"nodeSelector": {"pool": "mine"}}


def test_a_removed_placement_takes_its_deployment_and_a_removed_variant_its_service() -> None:
    both = wanted(
        (f"{VARIANT}.placements.1", {"name": "more"}), ("spec.variants.1", {**service()["spec"]["variants"][0], "name": "second"})
    )
    objects = live.serving(both)
    result = planned(wanted(generation=2), objects)
    assert deleted(result) == ["Deployment reviews-realtime-more", "Deployment reviews-second-cpu", "Service reviews-second"]
    assert {delete.uid for delete in result.deletes} == {f"uid-{delete.ref.kind.name}-{delete.ref.name}" for delete in result.deletes}
    gone = [c for c in objects if c["metadata"]["name"] not in ("reviews-realtime-more", "reviews-second-cpu", "reviews-second")]
    assert [delete.ref.kind.name for delete in planned(wanted(generation=2), gone).deletes] == ["ConfigMap", "ConfigMap"]


def test_a_foreign_child_is_reported_and_left_alone() -> None:
    owner = wanted()
    objects = live.serving(owner)
    for kind in ("Deployment", "Service", "ConfigMap"):
        changed = copy.deepcopy(objects)
        only(changed, kind)["metadata"]["ownerReferences"] = []
        result = planned(owner, changed)
        assert condition(result, "Stalled")[:2] == ("True", "NotOwned")
        assert f"{kind} {only(changed, kind)['metadata']['name']} exists and is controlled by nobody" in condition(result, "Stalled")[2]
        assert f"{kind} {only(changed, kind)['metadata']['name']}" not in applies(result)
        assert result.deletes == ()
        assert result.wake_after == SETTINGS.patience


def test_a_foreign_child_is_reported_before_the_engine_is_built() -> None:
    owner = wanted()
    theirs = {"kind": "Service", "metadata": {"name": "reviews-realtime", "uid": "uid-theirs"}}
    result = planned(owner, [theirs])
    assert condition(result, "Stalled")[:2] == ("True", "NotOwned")
    assert applies(result) == [f"Engine {engine_name(owner)}"], "the build goes on meanwhile"


def test_what_a_build_waits_for_is_passed_on() -> None:
    owner = wanted()
    (engine,) = live.applied(owner, [], "Engine")
    for reason, shown in (
        ("Building", "WaitingForEngine"),
        ("WaitingForStore", "WaitingForStore"),
        ("ImageUnavailable", "ImageUnavailable"),
    ):
        waits = live.stored(engine)
        waits["status"] = {"observedGeneration": 1, "conditions": [live.condition("Reconciling", "True", reason, "claim nowhere")]}
        status, seen, message = condition(planned(owner, [waits]), "Reconciling")
        assert (status, seen) == ("True", shown)
        assert "claim nowhere" in message


def test_a_foreign_claim_stops_everything_that_would_use_it() -> None:
    owner = wanted(OWN_STORE)
    (claim,) = live.applied(owner, [], "PersistentVolumeClaim")
    foreign = live.stored(claim, ownerReferences=[])
    result = planned(owner, [foreign])
    assert applies(result) == ["Service reviews-realtime"]
    assert condition(result, "Stalled")[:2] == ("True", "NotOwned")


def test_children_of_a_predecessor_are_waited_for() -> None:
    owner = wanted()
    objects = live.serving(owner)
    old = only(objects, "Deployment")
    old["metadata"]["ownerReferences"][0]["uid"] = "uid-of-the-predecessor"
    result = planned(owner, objects)
    assert condition(result, "Stalled")[:2] == ("True", "NotOwned"), "the service is an hour old: nobody removes it any more"
    young = owned_service(service(), age=10)
    result = planned(young, objects)
    assert condition(result, "Reconciling")[:2] == ("True", "NotOwned")
    assert result.wake_after == 5


def test_a_foreign_child_that_goes_is_waited_for() -> None:
    owner = wanted()
    objects = live.serving(owner)
    only(objects, "Deployment")["metadata"] |= {"ownerReferences": [], "deletionTimestamp": live.at(-1)}
    assert condition(planned(owner, objects), "Reconciling")[:2] == ("True", "NotOwned")


def test_no_node_with_the_product() -> None:
    owner = wanted(*T4)
    result = planned(owner, [live.gpu_node("NVIDIA-L4")])
    assert applies(result) == ["Service reviews-realtime"], "an engine that nobody can build is not made"
    assert condition(result, "Stalled")[:2] == ("True", "NoMatchingGPU")
    assert "NVIDIA-L4" in condition(result, "Stalled")[2]
    assert result.wake_after == SETTINGS.patience


def test_a_node_that_is_gone_for_a_while_costs_no_build_and_no_server() -> None:
    owner = wanted(*T4)
    objects = live.serving(owner, live.gpu_node("Tesla-T4"))
    result = planned(owner, without(objects, "Node"))
    assert result.deletes == ()
    assert f"Engine {live.applied(owner, objects, 'Engine')[0]['metadata']['name']}" in applies(result)
    assert "Deployment reviews-realtime-cpu" not in applies(result)
    assert condition(result, "Ready")[0] == "True"
    assert condition(result, "Stalled")[:2] == ("True", "NoMatchingGPU")


def test_an_engine_that_is_being_deleted_is_waited_for() -> None:
    owner = wanted()
    (engine,) = live.applied(owner, [], "Engine")
    result = planned(owner, [live.built_engine(engine, deletionTimestamp=live.at(-1))])
    assert not any(name.startswith(("Engine", "Deployment")) for name in applies(result))
    assert condition(result, "Reconciling")[:2] == ("True", "Deleting")


def test_a_stale_engine_status_is_not_believed() -> None:
    owner = wanted()
    (engine,) = live.applied(owner, [], "Engine")
    failed = live.stalled_engine(engine, Reason.BUILD_OUT_OF_MEMORY, "too small")
    failed["metadata"]["generation"] = 2
    assert condition(planned(owner, [failed]), "Reconciling")[:2] == ("True", "WaitingForEngine")


def test_no_replica_is_as_well_as_one() -> None:
    owner = wanted((f"{PLACEMENT}.replicas", 0))
    result = planned(owner, live.serving(owner))
    assert condition(result, "Ready")[0] == condition(result, "Available")[0] == "True"


def test_a_deleted_service_needs_nothing() -> None:
    content = service()
    content["metadata"]["deletionTimestamp"] = live.at(-5)
    assert planned(owned_service(content), live.serving(wanted())) == Plan()


def test_replicas_are_sent_and_drift_shows_as_reconciling() -> None:
    owner = wanted((f"{PLACEMENT}.replicas", 3))
    objects = live.serving(owner)
    assert only(objects, "Deployment")["spec"]["replicas"] == 3
    scaled = wanted((f"{PLACEMENT}.replicas", 4), generation=2)
    result = planned(scaled, objects)
    assert condition(result, "Reconciling")[:2] == ("True", "RollingOut")
    assert condition(result, "Ready")[0] == "True"
    assert condition(result, "Available")[0] == "False"


def test_uid_in_every_owner_reference() -> None:
    owner = wanted(OWN_STORE)
    manifests = [a.manifest for a in planned(owner, live.serving(owner)).applies]
    assert {m["metadata"]["ownerReferences"][0]["uid"] for m in manifests} == {UID}
    controlled = {m["kind"]: m["metadata"]["ownerReferences"][0]["controller"] for m in manifests}
    assert controlled == {"PersistentVolumeClaim": True, "Engine": False, "Service": True, "ConfigMap": True, "Deployment": True}


def test_two_placements_of_one_engine_share_it() -> None:
    owner = wanted((f"{VARIANT}.placements.1", {"name": "more"}))
    result = planned(owner, live.serving(owner))
    assert sum(name.startswith("Engine ") for name in applies(result)) == 1
    assert result.status is not None
    assert result.status["enginesReady"] == "1/1"
    assert isinstance(result.deletes, tuple)
    assert not any(isinstance(delete, Delete) for delete in result.deletes)


def test_a_placement_that_moves_answers_until_the_new_one_does() -> None:
    before = live.serving(wanted())
    moved = wanted((f"{PLACEMENT}.name", "pool"))
    old = str(only(before, "Deployment")["metadata"]["name"])
    result = planned(moved, before)
    assert deleted(result) == []
    assert condition(result, "Ready")[0] == "True"
    assert condition(result, "Reconciling")[0] == "True"
    (new,) = live.applied(moved, before, "Deployment")
    assert new["metadata"]["name"] != old
    assert f"Deployment {old}" not in deleted(planned(moved, [*before, live.rolled_out(new, ready=0)]))
    # Only once; nor is one kept that answers nothing itself.
    done = planned(moved, [*before, live.rolled_out(new)])
    assert f"Deployment {old}" in deleted(done)
    assert condition(done, "Ready")[0] == "True"
    only(before, "Deployment")["status"]["readyReplicas"] = 0
    gone = planned(moved, before)
    assert f"Deployment {old}" in deleted(gone)
    assert condition(gone, "Ready")[0] == "False"


def test_a_placement_that_is_taken_out_goes_at_once_when_the_others_answer_and_a_variant_always() -> None:
    both = wanted((f"{VARIANT}.placements", [{"name": "a"}, {"name": "b"}]))
    result = planned(wanted((f"{VARIANT}.placements", [{"name": "b"}])), live.serving(both))
    assert [name for name in deleted(result) if name.startswith("Deployment")] != []
    renamed = planned(wanted((f"{VARIANT}.name", "other")), live.serving(wanted()))
    assert [name for name in deleted(renamed) if name.startswith("Deployment")] != []
