"""Plans for an Engine: build it once, translate what went wrong, remove its files when it goes."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from tests.support import live
from tests.support.live import NOW, SETTINGS, as_engine, at, ended, failure_words, owned_service, summary, waits
from tests.support.objects import VARIANT, service
from vertical_engines.contract.build import BuildOutcome
from vertical_engines.contract.manifest import StoreUsage
from vertical_engines.contract.reasons import Reason
from vertical_operator.api.v1alpha1 import Engine, parse
from vertical_operator.core.builds import RETRYABLE
from vertical_operator.core.intents import Manifest, Plan
from vertical_operator.core.observed import ObservedEngine
from vertical_operator.core.plan import plan_engine
from vertical_operator.core.render.build_job import build_job
from vertical_operator.core.render.remove_job import remove_job

(MANIFEST,) = live.applied(owned_service(service()), [], "Engine")
ENGINE = as_engine(MANIFEST)
NAME, KEY = ENGINE.metadata.name, ENGINE.spec.key
CLAIM: Manifest = {"kind": "PersistentVolumeClaim", "metadata": {"name": "engines", "uid": "uid-claim"}, "status": {"phase": "Bound"}}
JOB = live.stored(build_job(ENGINE, SETTINGS))


def planned(engine: Engine, objects: Sequence[Manifest], *, later: float = 0) -> Plan:
    return plan_engine(engine, ObservedEngine.of(objects), settings=SETTINGS, now=NOW + timedelta(seconds=later))


def job(*conditions: str, started: float = -60, ended_at: float = -10, **fields: str) -> Manifest:
    status = {
        "startTime": at(started),
        "conditions": [{"type": kind, "status": "True", "lastTransitionTime": at(ended_at), **fields} for kind in conditions],
    }
    return {**JOB, "status": status}


def condition(result: Plan, kind: str) -> tuple[str, str, str]:
    assert result.status is not None
    found = next(c for c in result.status["conditions"] if c["type"] == kind)
    return found["status"], found["reason"], found.get("message", "")


def applies(result: Plan) -> list[str]:
    return [f"{a.manifest['kind']} {a.manifest['metadata']['name']}" for a in result.applies]


def built(engine: Engine = ENGINE) -> Engine:
    status = {"manifest": summary(engine.spec.key).model_dump(mode="json", by_alias=True, exclude_none=True)}
    return parse(Engine, engine.model_dump(mode="json", by_alias=True, exclude_none=True) | {"status": status})


def test_the_finalizer_comes_before_the_first_job() -> None:
    result = planned(as_engine(MANIFEST, finalizers=[]), [CLAIM])
    assert applies(result) == [f"Engine {NAME}", f"Job {NAME}-build"]
    assert result.applies[0].manifest["metadata"] == {
        "name": NAME,
        "namespace": "default",
        "uid": ENGINE.metadata.uid,
        "finalizers": ["serving.vertical-operator.io/store"],
    }
    assert condition(result, "Reconciling")[:2] == ("True", "Building")
    assert result.status is not None
    assert [c["type"] for c in result.status["conditions"]] == ["Ready", "Built", "Verified", "Reconciling", "Stalled"]


def test_columns() -> None:
    status = planned(built(), [CLAIM]).status
    assert status is not None
    shown = [status[field] for field in ("state", "flags", "gpu", "toolchain", "buildTime", "size")]
    assert shown == ["Ready", "in256/out16/batch1/contiguous", "CPU", "OpenVINO 2026.4", "6s", "90Mi"]


def test_how_full_the_store_is_stands_in_the_status_and_stays() -> None:
    usage = StoreUsage(total_bytes=10_000, free_bytes=4_000, engines=3)
    words = BuildOutcome(manifest=summary(KEY), store=usage).to_termination_message()
    pod = live.pod_of(JOB, **(ended("build", code=0, message=words, reason="Completed") | {"phase": "Succeeded"}))
    status = planned(ENGINE, [CLAIM, job("Complete"), pod]).status
    assert status is not None
    assert status["store"] == {"totalBytes": 10_000, "freeBytes": 4_000, "engines": 3}
    known = parse(Engine, ENGINE.model_dump(mode="json", by_alias=True, exclude_none=True) | {"status": status})
    later = planned(known, [CLAIM]).status
    assert later is not None
    assert later["store"] == status["store"]


def test_a_finished_build_is_ready_and_stays_so_without_its_job() -> None:
    words = BuildOutcome(manifest=summary(KEY)).to_termination_message()
    pod = live.pod_of(JOB, **(ended("build", code=0, message=words, reason="Completed") | {"phase": "Succeeded"}))
    result = planned(ENGINE, [CLAIM, job("Complete"), pod])
    assert condition(result, "Ready")[0] == condition(result, "Built")[0] == condition(result, "Verified")[0] == "True"
    assert result.applies == result.deletes == ()
    later = parse(Engine, ENGINE.model_dump(mode="json", by_alias=True, exclude_none=True) | {"status": result.status})
    again = planned(later, [CLAIM], later=3600)
    assert again.status == result.status
    assert again.applies == again.deletes == ()
    assert again.wake_after is None


def test_a_lost_summary_is_asked_for_again() -> None:
    result = planned(ENGINE, [CLAIM, job("Complete")])
    assert [str(delete.ref) for delete in result.deletes] == [f"Job {NAME}-build"]
    assert condition(result, "Reconciling")[0] == "True"


def test_an_image_that_builds_another_key_is_not_believed() -> None:
    words = BuildOutcome(manifest=summary("f" * 64)).to_termination_message()
    pod = live.pod_of(JOB, **(ended("build", code=0, message=words) | {"phase": "Succeeded"}))
    result = planned(ENGINE, [CLAIM, job("Complete"), pod])
    assert condition(result, "Stalled")[:2] == ("True", "BuildFailed")


def failed_pod(*, age: float = 60, name: str = "pod-1", phase: str = "Failed", **fields: Any) -> Manifest:
    return live.pod_of(JOB, name=name, age=age, **(fields | {"phase": phase}))


NOT_FOUND = ended("model", code=65, message=failure_words(Reason.MODEL_NOT_FOUND, "model image has no /x"), init=True)
FULL = ended("build", code=75, message=failure_words(Reason.STORE_FULL, "3 MiB free, 90 MiB needed"))
OOM = ended("build", code=137, reason="OOMKilled")
ODD = ended("build", code=1, message="Traceback: boom")
UNSCHEDULED = {"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes: 3 Insufficient nvidia.com/gpu"}]}
PULL = waits("model", "ImagePullBackOff", 'Back-off pulling image "models:1": ErrImagePull: not found', init=True)

ROWS: list[tuple[str, list[Manifest], str, str, str]] = [
    ("at work", [job(), failed_pod(phase="Running")], "Reconciling", "Building", "is building (until 2026-11-29T12:59:00Z at most)"),
    ("model not found", [job("Failed"), failed_pod(**NOT_FOUND)], "Stalled", "ModelNotFound", "model image has no /x"),
    ("store full", [job("Failed"), failed_pod(**FULL)], "Stalled", "StoreFull", "tried again at 2026-11-29T12:09:50Z"),
    ("out of memory", [job("Failed"), failed_pod(**OOM)], "Stalled", "BuildOutOfMemory", "raise limits.memory"),
    (
        "unknown words",
        [job("Failed", message="limit reached"), failed_pod(**ODD)],
        "Stalled",
        "BuildFailed",
        "ended with 1: Traceback: boom",
    ),
    ("no pod left", [job("Failed", message="limit reached")], "Stalled", "BuildFailed", "limit reached"),
    (
        "out of time",
        [job("Failed", reason="DeadlineExceeded", message="Job was active longer than specified deadline")],
        "Stalled",
        "BuildDeadlineExceeded",
        "tried again at",
    ),
    (
        "newest words count",
        [job("Failed"), failed_pod(**NOT_FOUND, age=100, name="pod-a"), failed_pod(**FULL, age=10, name="pod-b")],
        "Stalled",
        "StoreFull",
        "3 MiB free",
    ),
    (
        "an attempt that has failed before its pod's phase says so",
        [job(), failed_pod(**FULL, phase="Running")],
        "Reconciling",
        "Building",
        "an attempt before failed: StoreFull: 3 MiB free",
    ),
    (
        "another attempt",
        [job(), failed_pod(**FULL, name="pod-a"), failed_pod(phase="Running", name="pod-b")],
        "Reconciling",
        "Building",
        "an attempt before failed: StoreFull: 3 MiB free",
    ),
    ("image, in time", [job(), failed_pod(phase="Pending", **PULL)], "Reconciling", "ImageUnavailable", "can't pull image models:1"),
    ("image, too late", [job(), failed_pod(phase="Pending", age=301, **PULL)], "Stalled", "ImageUnavailable", "container model: not found"),
    ("no node", [job(), failed_pod(phase="Pending", **UNSCHEDULED)], "Reconciling", "WaitingForPod", "3 Insufficient nvidia.com/gpu"),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_builds(row: tuple[str, list[Manifest], str, str, str]) -> None:
    _, objects, kind, reason, fragment = row
    result = planned(ENGINE, [CLAIM, *objects])
    assert condition(result, kind)[:2] == ("True", reason)
    assert fragment in condition(result, kind)[2]
    assert condition(result, "Stalled" if kind == "Reconciling" else "Reconciling")[0] == "False"
    assert condition(result, "Ready")[:2] == ("False", reason)
    assert result.applies == result.deletes == (), "a failed Job stays as the record, and one at work is left alone"


def test_the_log_of_a_failure_is_kept() -> None:
    result = planned(ENGINE, [CLAIM, job("Failed"), failed_pod(**NOT_FOUND)])
    assert result.status is not None
    assert result.status["failure"] == {"reason": "ModelNotFound", "message": "model image has no /x", "log": ["last line"]}


@pytest.mark.parametrize("reason", RETRYABLE)
def test_what_may_pass_is_tried_again_after_a_while(reason: Reason) -> None:
    pod = failed_pod(**ended("build", code=75, message=failure_words(reason, "words")))
    objects = [CLAIM, job("Failed"), pod]
    soon = planned(ENGINE, objects, later=SETTINGS.retry_after - 11)
    assert soon.deletes == ()
    assert soon.wake_after == 2
    due = planned(ENGINE, objects, later=SETTINGS.retry_after - 10)
    assert [(str(d.ref), d.uid) for d in due.deletes] == [(f"Job {NAME}-build", JOB["metadata"]["uid"])]


def test_a_changed_scheduling_makes_the_job_anew() -> None:
    changed = as_engine({**MANIFEST, "spec": {**MANIFEST["spec"], "scheduling": {"resources": {"limits": {"memory": "9Gi"}}}}})
    result = planned(changed, [CLAIM, job("Failed"), failed_pod(**OOM)])
    assert [str(delete.ref) for delete in result.deletes] == [f"Job {NAME}-build"]
    assert condition(result, "Reconciling")[0] == "True"


@pytest.mark.parametrize(("age", "kind", "reason"), [(60, "Reconciling", "WaitingForStore"), (121, "Stalled", "StoreUnavailable")])
def test_a_missing_store(age: float, kind: str, reason: str) -> None:
    result = planned(as_engine(MANIFEST, creationTimestamp=at(-age)), [])
    assert applies(result) == []
    assert condition(result, kind)[:2] == ("True", reason)
    assert "PersistentVolumeClaim engines of the engine store does not exist" in condition(result, kind)[2]
    assert result.wake_after is not None


def test_a_foreign_job_is_left_alone() -> None:
    foreign = {**JOB, "metadata": {**JOB["metadata"], "ownerReferences": []}}
    result = planned(ENGINE, [CLAIM, foreign])
    assert condition(result, "Stalled")[:2] == ("True", "NotOwned")
    assert result.applies == result.deletes == ()


def test_pods_of_a_job_that_is_gone_do_not_count() -> None:
    stray = failed_pod(**NOT_FOUND)
    stray["metadata"]["ownerReferences"][0]["uid"] = "uid-of-an-earlier-job"
    assert condition(planned(ENGINE, [CLAIM, job(), stray]), "Reconciling") == condition(planned(ENGINE, [CLAIM, job()]), "Reconciling")


def test_a_key_of_other_rules_is_served_but_not_built() -> None:
    content = {**MANIFEST, "spec": {**MANIFEST["spec"], "key": "e" * 64}}
    assert condition(planned(as_engine(content), [CLAIM]), "Stalled")[:2] == ("True", "InvalidSpec")
    assert condition(planned(built(as_engine(content)), [CLAIM]), "Ready")[0] == "True"


# Deletion


GOING = as_engine(MANIFEST, deletionTimestamp=at(-10), deletionGracePeriodSeconds=0)
REMOVER = live.stored(remove_job(ENGINE, SETTINGS))


def lets_go(result: Plan) -> bool:
    return any(a.manifest["kind"] == "Engine" and "finalizers" not in a.manifest["metadata"] for a in result.applies)


def test_files_are_removed_before_the_finalizer_goes() -> None:
    result = planned(GOING, [CLAIM])
    assert applies(result) == [f"Job {NAME}-remove"]
    assert condition(result, "Reconciling")[:2] == ("True", "Deleting")
    assert result.wake_after == SETTINGS.remove_deadline - 10 + 1
    done = {**REMOVER, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    assert lets_go(planned(GOING, [CLAIM, done]))


def test_the_build_stops_before_files_are_removed() -> None:
    result = planned(GOING, [CLAIM, job()])
    assert applies(result) == []
    assert [str(delete.ref) for delete in result.deletes] == [f"Job {NAME}-build"]
    lingering = failed_pod(phase="Running")
    waiting = planned(GOING, [CLAIM, lingering])
    assert waiting.applies == waiting.deletes == (), "the pod of the deleted Job may still write"
    assert waiting.wake_after == 5


def test_a_finished_build_job_is_no_obstacle() -> None:
    pod = failed_pod(phase="Succeeded")
    assert applies(planned(GOING, [CLAIM, job("Complete"), pod])) == [f"Job {NAME}-remove"]


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([], id="claim gone"),
        pytest.param([{**CLAIM, "metadata": {**CLAIM["metadata"], "deletionTimestamp": at(-1)}}], id="claim terminating"),
        pytest.param([{**CLAIM, "status": {"phase": "Pending"}}], id="claim never bound"),
        pytest.param(
            [CLAIM, {"kind": "Namespace", "metadata": {"name": "default", "deletionTimestamp": at(-1)}}], id="namespace terminating"
        ),
        pytest.param([CLAIM, {**REMOVER, "status": {"conditions": [{"type": "Failed", "status": "True"}]}}], id="removal failed"),
        pytest.param([CLAIM, {**REMOVER, "metadata": {**REMOVER["metadata"], "ownerReferences": []}}], id="foreign removal Job"),
    ],
)
def test_nothing_to_remove(objects: list[Manifest]) -> None:
    result = planned(GOING, objects)
    assert lets_go(result)
    assert len(result.applies) == 1


def server(**metadata: str) -> Manifest:
    """A pod that serves the engine, running, with these metadata."""
    (deployment,) = (content for content in live.serving(owned_service(service())) if content["kind"] == "Deployment")
    pod = live.pod_of(deployment, phase="Running")
    pod["metadata"] |= metadata
    return pod


def gone_for(seconds: float) -> Engine:
    return as_engine(MANIFEST, deletionTimestamp=at(-seconds))


@pytest.mark.parametrize("since", [1, 29, 60, 89])
def test_files_stay_while_servers_drain(since: float) -> None:
    result = planned(gone_for(since), [CLAIM, server(deletionTimestamp=at(60))])
    assert result.applies == result.deletes == ()
    assert result.wake_after is not None
    assert result.wake_after <= 5


def test_files_go_when_the_servers_have_gone_and_before_the_time_is_up() -> None:
    over = server(deletionTimestamp=at(60)) | {"status": {"phase": "Succeeded"}}
    assert applies(planned(gone_for(10), [CLAIM, over])) == [f"Job {NAME}-remove"]
    assert applies(planned(gone_for(91), [CLAIM, server(deletionTimestamp=at(60))])) == [f"Job {NAME}-remove"]


def test_an_engine_that_is_deleted_while_it_is_served_keeps_its_files() -> None:
    assert planned(gone_for(10), [CLAIM, server()]).applies == ()
    (apply,) = planned(gone_for(31), [CLAIM, server()]).applies
    assert apply.manifest["kind"] == "Engine"
    assert "finalizers" not in apply.manifest["metadata"]


def test_the_wait_for_the_removal_is_bounded() -> None:
    assert not lets_go(planned(GOING, [CLAIM, REMOVER], later=SETTINGS.remove_deadline - 11))
    assert lets_go(planned(GOING, [CLAIM, REMOVER], later=SETTINGS.remove_deadline - 10))


def test_without_our_finalizer_there_is_nothing_to_do() -> None:
    assert planned(as_engine(MANIFEST, finalizers=[], deletionTimestamp=at(-10)), [CLAIM]) == Plan()


def test_a_build_waits_in_the_queue_that_its_placement_names() -> None:
    """What Kueue does to the Job (it sets `suspend`, later node selectors) is its own: none of these fields is applied by the operator."""
    queued = as_engine(live.applied(owned_service(service((f"{VARIANT}.placements.0.queueName", "builds"))), [], "Engine")[0])
    made = build_job(queued, SETTINGS)
    assert made["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "builds"
    assert "kueue.x-k8s.io/queue-name" not in made["spec"]["template"]["metadata"]["labels"]
    assert "suspend" not in made["spec"]
    assert "kueue.x-k8s.io/queue-name" not in build_job(ENGINE, SETTINGS)["metadata"]["labels"]
    assert "kueue.x-k8s.io/queue-name" not in remove_job(queued, SETTINGS)["metadata"]["labels"], "removal has a deadline: it never queues"
    assert queued.spec.key == ENGINE.spec.key

    held = live.stored(made)
    held["spec"]["suspend"] = True
    waits_in_queue = planned(queued, [CLAIM, held], later=7200)
    assert condition(waits_in_queue, "Reconciling") == (
        "True",
        "Building",
        f"Job {queued.metadata.name}-build is suspended: Kueue has not admitted it from queue builds yet",
    )
    assert condition(waits_in_queue, "Stalled")[0] == "False"
    assert not waits_in_queue.applies
    assert not waits_in_queue.deletes


def test_a_job_suspended_by_hand_is_told_as_one() -> None:
    assert (
        "somebody has set its suspend"
        in condition(planned(ENGINE, [CLAIM, {**JOB, "spec": {**JOB["spec"], "suspend": True}}]), "Reconciling")[2]
    )
