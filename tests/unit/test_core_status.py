"""Conditions over time, and the two statuses that stand for an error."""

from datetime import timedelta

import pytest

from tests.support import live
from tests.support.live import NOW, SETTINGS, owned_service
from tests.support.objects import service
from vertical_engines.contract.reasons import Reason
from vertical_operator.api.v1alpha1.conditions import MESSAGE_LIMIT, Observation, clipped, conditions
from vertical_operator.api.v1alpha1.service_status import VerticalServiceStatus
from vertical_operator.core.observed import ObservedService
from vertical_operator.core.plan import plan
from vertical_operator.core.status import invalid, refused

LATER = NOW + timedelta(hours=1)


def seen(status: str, message: str = "") -> list[Observation]:
    return [Observation.model_validate({"type": "Ready", "status": status, "reason": Reason.READY, "message": message})]


def test_the_transition_time_follows_the_status_only() -> None:
    first = conditions(seen("True"), previous=(), generation=1, now=NOW)
    same = conditions(seen("True", "other words"), previous=first, generation=2, now=LATER)
    other = conditions(seen("False"), previous=same, generation=2, now=LATER)
    assert [c[0].last_transition_time for c in (first, same, other)] == [live.at(0), live.at(0), live.at(3600)]
    assert (same[0].message, same[0].observed_generation) == ("other words", 2)


def test_a_long_message_is_cut() -> None:
    assert len(clipped("x" * 5000)) == MESSAGE_LIMIT
    assert clipped("x" * 5000).endswith("…")


def test_an_unreadable_spec_is_stalled_and_ready_stays_what_it_was() -> None:
    owner = owned_service(service())
    good = plan(owner, ObservedService.of(live.serving(owner)), settings=SETTINGS, now=NOW).status
    raw = service() | {"status": good}
    raw["metadata"]["generation"] = 2
    bad = invalid(raw, text="spec.x: no", now=LATER)
    found = {c["type"]: c for c in bad["conditions"]}
    assert (found["Stalled"]["status"], found["Stalled"]["reason"]) == ("True", "InvalidSpec")
    assert "spec.x: no" in found["Stalled"]["message"]
    assert (found["Ready"]["status"], found["Ready"]["lastTransitionTime"]) == ("True", live.at(0))
    assert {c["observedGeneration"] for c in bad["conditions"]} == {bad["observedGeneration"]} == {2}
    assert (bad["reason"], bad["variants"]) == ("InvalidSpec", good["variants"] if good else None)
    assert invalid(raw | {"status": bad}, text="spec.x: no", now=LATER + timedelta(hours=1)) == bad
    VerticalServiceStatus.model_validate(bad)


@pytest.mark.parametrize(("kind", "headline"), [("VerticalService", "reason"), ("Engine", "state")])
def test_an_unreadable_new_object_has_all_conditions(kind: str, headline: str) -> None:
    raw = {"kind": kind, "metadata": {"name": "n", "generation": 1}, "status": {"observedGeneration": -1}}
    status = invalid(raw, text="broken", now=NOW)
    assert {c["type"] for c in status["conditions"]} >= {"Ready", "Reconciling", "Stalled"}
    assert len(status["conditions"]) == 5
    assert {c["status"] for c in status["conditions"] if c["type"] not in ("Stalled", "Reconciling")} == {"Unknown"}
    assert status[headline] == "InvalidSpec"


def test_a_refused_child_is_stalled_with_the_servers_words() -> None:
    owner = owned_service(service())
    good = plan(owner, ObservedService.of(live.serving(owner)), settings=SETTINGS, now=NOW).status
    assert good is not None
    bad = refused(good, what="Deployment reviews-realtime-cpu", text="spec.x: Invalid value", generation=1, now=NOW)
    found = {c["type"]: c for c in bad["conditions"]}
    assert (found["Stalled"]["status"], found["Stalled"]["reason"]) == ("True", "ChildRefused")
    assert found["Stalled"]["message"] == "the API server refuses Deployment reviews-realtime-cpu: spec.x: Invalid value"
    assert found["Reconciling"]["status"] == "False"
    assert found["Ready"]["status"] == "True"
    assert bad["reason"] == "ChildRefused"


def test_no_status_is_ever_reconciling_and_stalled() -> None:
    """One placement waits while another is stalled: it counts as stalled, for somebody has to do something."""
    gpu = {"name": "gpu", "accelerator": {"product": "Tesla-T4"}, "toolchain": {"backend": "TensorRTLLM", "release": "24.09"}}
    owner = owned_service(service(("spec.variants.0.placements.1", gpu)))
    status = plan(owner, ObservedService.of([]), settings=SETTINGS, now=NOW).status
    assert status is not None
    found = {c["type"]: c["status"] for c in status["conditions"]}
    assert (found["Stalled"], found["Reconciling"]) == ("True", "False")
    assert status["enginesReady"] == "0/2"
