"""Whatever the world looks like, a plan exists, contradicts nothing, and touches nobody else's objects."""

import copy
from datetime import timedelta

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import live
from tests.support.live import NOW, SETTINGS, UID, owned_service
from tests.support.objects import service
from vertical_operator.api.v1alpha1 import Engine, VerticalServiceStatus, parse
from vertical_operator.api.v1alpha1.engine import EngineStatus
from vertical_operator.core.intents import Manifest, Plan
from vertical_operator.core.observed import ObservedEngine, ObservedService
from vertical_operator.core.plan import plan, plan_engine
from vertical_operator.core.render.build_job import build_job

MORE = ("spec.variants.0.placements.1", {"name": "more"})
OWN_STORE = ("spec.engineStore", {"volumeClaimTemplate": {"size": "1Gi"}})
BEFORE = owned_service(service(MORE, OWN_STORE))
AFTER = owned_service(service(OWN_STORE, ("spec.model.revision", "2")), generation=2)
WORLD = [*live.serving(BEFORE), *live.serving(AFTER)]
PODS = [live.pod_of(content, name=f"pod-{i}") for i, content in enumerate(c for c in WORLD if c["kind"] == "Deployment")]


@st.composite
def worlds(draw: st.DrawFn, objects: list[Manifest]) -> list[Manifest]:
    """Some of the objects, each as it is, foreign, going, without status or of an older intent."""
    made: dict[tuple[str, str], Manifest] = {}
    for content in draw(st.permutations(objects))[: draw(st.integers(0, len(objects)))]:
        content = copy.deepcopy(content)
        match draw(st.sampled_from(["as it is", "as it is", "foreign", "going", "no status", "older intent", "failed"])):
            case "foreign":
                content["metadata"]["ownerReferences"] = []
            case "going":
                content["metadata"]["deletionTimestamp"] = live.at(-draw(st.integers(0, 300)))
            case "no status":
                content.pop("status", None)
            case "older intent":
                content["metadata"].get("annotations", {}).pop("serving.vertical-operator.io/intent", None)
            case "failed":
                content["status"] = {
                    "conditions": [{"type": "Failed", "status": "True", "lastTransitionTime": live.at(-5)}],
                    "phase": "Failed",
                }
        made[content["kind"], content["metadata"]["name"]] = content
    return list(made.values())


def consistent(result: Plan, *, model: type[VerticalServiceStatus] | type[EngineStatus]) -> None:
    names = [(a.manifest["kind"], a.manifest["metadata"]["name"]) for a in result.applies]
    assert len(set(names)) == len(names)
    assert not set(names) & {(d.ref.kind.name, d.ref.name) for d in result.deletes}
    assert all(delete.uid for delete in result.deletes)
    assert result.wake_after is None or result.wake_after > 0
    if result.status is None:
        return
    parse(model, result.status)
    found = {c["type"]: c["status"] for c in result.status["conditions"]}
    assert len(found) == 5
    assert not (found["Reconciling"] == "True" and found["Stalled"] == "True")
    troubled = found["Reconciling"] == "True" or found["Stalled"] == "True"
    assert troubled or found["Ready"] == "True", "nothing may be unwell without a word"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(worlds([*WORLD, *PODS]), st.integers(0, 7200))
def test_any_world_of_a_service_has_a_plan(objects: list[Manifest], later: int) -> None:
    result = plan(AFTER, ObservedService.of(objects), settings=SETTINGS, now=NOW + timedelta(seconds=later))
    consistent(result, model=VerticalServiceStatus)
    owners = {(c["kind"], c["metadata"]["name"]): [o["uid"] for o in c["metadata"].get("ownerReferences", [])] for c in objects}
    assert all(UID in owners[(d.ref.kind.name, d.ref.name)] for d in result.deletes), "only our own objects are deleted"
    for apply in result.applies:
        kind, name = apply.manifest["kind"], apply.manifest["metadata"]["name"]
        assert kind == "Engine" or UID in owners.get((kind, name), [UID]), "a foreign object is never overwritten"
    assert result == plan(AFTER, ObservedService.of(reversed(objects)), settings=SETTINGS, now=NOW + timedelta(seconds=later))


ENGINE_MANIFEST = next(c for c in WORLD if c["kind"] == "Engine")
JOB = live.stored(build_job(parse(Engine, ENGINE_MANIFEST), SETTINGS))
CLAIM = next(c for c in WORLD if c["kind"] == "PersistentVolumeClaim")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(worlds([JOB, CLAIM, live.pod_of(JOB)]), st.booleans(), st.booleans(), st.integers(0, 7200))
def test_any_world_of_an_engine_has_a_plan(objects: list[Manifest], built: bool, going: bool, later: int) -> None:
    content = copy.deepcopy(ENGINE_MANIFEST)
    content["metadata"] |= {"deletionTimestamp": live.at(0), "finalizers": ["serving.vertical-operator.io/store"]} if going else {}
    content["status"] = content["status"] if built else {"observedGeneration": -1}
    result = plan_engine(parse(Engine, content), ObservedEngine.of(objects), settings=SETTINGS, now=NOW + timedelta(seconds=later))
    consistent(result, model=EngineStatus)
