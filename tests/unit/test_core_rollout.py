"""What pods and Deployments complain about, as a table: state of a rollout to condition, reason and words."""

from typing import Any

import pytest

from tests.support import live
from tests.support.live import NOW, SETTINGS, ended, failure_words, owned_service, waits
from tests.support.objects import service
from vertical_engines.contract.reasons import Reason
from vertical_operator.core.intents import Manifest, Plan
from vertical_operator.core.observed import ObservedService
from vertical_operator.core.plan import plan

OWNER = owned_service(service())
TRT_MISMATCH = """I1129 22:58:01.000000 1 model_lifecycle.cc:472] loading: generator_tensorrt_llm:1
[TensorRT-LLM][ERROR] 6: The engine plan file is not compatible with this version of TensorRT, expecting library version 10.9.0.34 got
[TensorRT-LLM][ERROR] IRuntime::deserializeCudaEngine: expecting library version 10.9.0.34 got 10.4.0, please rebuild.
error: creating server: Internal - failed to load all models"""
CRASHED = """| exit_timeout | 20 |
+--------------+----+

W1129 23:56:46.242657 1 pinned_memory_manager.cc:273] "CUDA driver version is insufficient for CUDA runtime version"
E1129 23:56:46.242807 1 server.cc:241] "CudaDriverHelper has not been initialized."
E1129 23:56:46.590715 1 backend_model.cc:692] "ERROR: Failed to create instance: RuntimeError: no index: données\\n"
E1129 23:56:46.590948 1 model_lifecycle.cc:642] "failed to load 'echo' version 1: Internal: RuntimeError: données\\n\\nAt:\\n  x\\n"
I1129 23:56:46.591016 1 model_lifecycle.cc:777] "failed to load 'echo'"
error: creating server: Internal - failed to load all models
"""
NOT_FOUND = failure_words(Reason.PIPELINE_INVALID, "pipeline image has no /models")
REFUSED = failure_words(Reason.PIPELINE_INVALID, "model echo is loaded, but does not answer its own canary.json: HTTP 400: no input TXT")
GUARD_AGAIN = waits("guard", "", restarts=1, last=REFUSED, init=True)["initContainerStatuses"][0]
MISMATCH = failure_words(Reason.ENGINE_GPU_MISMATCH, "built for Tesla-T4, this is an L4")
CORRUPT = failure_words(Reason.ENGINE_CORRUPT, "engine 0123 is damaged: weights.bin has another sha256 than when it was built")
PULL = 'Back-off pulling image "pipeline:1": ErrImagePull: not found'


def rolling(*, pods: list[dict[str, Any]], conditions: list[Manifest] | None = None, stale: bool = False) -> Plan:
    """The plan over a Deployment none of whose pods is ready; each pod given by its age and status fields."""
    objects = live.serving(OWNER)
    (deployment,) = (content for content in objects if content["kind"] == "Deployment")
    deployment["status"] = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "conditions": conditions or []}
    if stale:
        deployment["spec"]["template"]["metadata"]["annotations"]["serving.vertical-operator.io/revision"] = "older"
    made = [live.pod_of(deployment, name=f"pod-{i}", **pod) for i, pod in enumerate(pods)]
    return plan(OWNER, ObservedService.of([*objects, *made]), settings=SETTINGS, now=NOW)


def unscheduled(words: str) -> Manifest:
    return {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": words}]}


def trying_again(name: str, *, last: str) -> Manifest:
    """An init container that runs once more after it has ended."""
    terminated = {"terminated": {"exitCode": 65, "message": last, "reason": "Error"}}
    return {"initContainerStatuses": [{"name": name, "state": {"running": {}}, "lastState": terminated, "restartCount": 3, "ready": False}]}


EXPIRED = [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]
QUOTA = [{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota: team"}]

ROWS: list[tuple[str, Plan, str, str, str]] = [
    ("no pod yet", rolling(pods=[]), "Reconciling", "RollingOut", "0 of 1 replicas ready"),
    ("pod starting", rolling(pods=[{}]), "Reconciling", "RollingOut", "at most"),
    (
        "image, in time",
        rolling(pods=[waits("pipeline", "ImagePullBackOff", PULL, init=True)]),
        "Reconciling",
        "ImageUnavailable",
        "pipeline:1",
    ),
    (
        "image, too late",
        rolling(pods=[{"age": 300, **waits("pipeline", "ErrImagePull", "not found", init=True)}]),
        "Stalled",
        "ImageUnavailable",
        "can't pull image pipeline:1 for container pipeline: not found",
    ),
    (
        "no path in the pipeline image",
        rolling(pods=[ended("pipeline", code=65, message=NOT_FOUND, init=True)]),
        "Stalled",
        "PipelineInvalid",
        "pipeline image has no /models",
    ),
    (
        "assemble refuses the engine, waiting between attempts",
        rolling(pods=[waits("assemble", "CrashLoopBackOff", restarts=1, last=MISMATCH, init=True)]),
        "Stalled",
        "EngineGpuMismatch",
        "this is an L4",
    ),
    (
        "server crashes now and then",
        rolling(pods=[waits("triton", "CrashLoopBackOff", restarts=1, last="boom")]),
        "Reconciling",
        "RollingOut",
        "",
    ),
    (
        "engine refused again and again is no crash loop",
        rolling(pods=[waits("assemble", "CrashLoopBackOff", restarts=9, last=CORRUPT, init=True)]),
        "Stalled",
        "EngineCorrupt",
        "container assemble: engine 0123 is damaged: weights.bin has another sha256",
    ),
    (
        "engine refused, while the kubelet tries again",
        rolling(pods=[trying_again("assemble", last=CORRUPT)]),
        "Stalled",
        "EngineCorrupt",
        "weights.bin has another sha256",
    ),
    (
        "server ends with words that are known, the first time",
        rolling(pods=[waits("triton", "CrashLoopBackOff", restarts=1, last=TRT_MISMATCH)]),
        "Stalled",
        "EngineRuntimeMismatch",
        "built with TensorRT 10.4.0, this image has 10.9.0.34",
    ),
    (
        "server crashes for ever",
        rolling(pods=[waits("triton", "CrashLoopBackOff", restarts=3, last="boom")]),
        "Stalled",
        "ContainerCrashing",
        "container triton ends again and again with exit code 1: boom",
    ),
    (
        "server whose model does not load: the cause and nothing else, on one line",
        rolling(pods=[waits("triton", "CrashLoopBackOff", restarts=3, last=CRASHED)]),
        "Stalled",
        "ContainerCrashing",
        "exit code 1: failed to load 'echo' version 1: Internal: RuntimeError: données At: x",
    ),
    (
        "server that ends with a trace: its last lines, without tables, on one line",
        rolling(pods=[waits("triton", "CrashLoopBackOff", restarts=3, last="| a |\n+---+\n\nfirst\nTraceback:\n  at x\nboom\n")]),
        "Stalled",
        "ContainerCrashing",
        "exit code 1: Traceback: | at x | boom",
    ),
    (
        "guard whose canaries are all refused, waiting between attempts",
        rolling(pods=[waits("guard", "CrashLoopBackOff", restarts=1, last=REFUSED, init=True)]),
        "Stalled",
        "PipelineInvalid",
        "container guard: model echo is loaded, but does not answer",
    ),
    (
        "guard whose canaries are all refused, trying again",
        rolling(pods=[{"initContainerStatuses": [{**GUARD_AGAIN, "state": {"running": {}}, "ready": True}]}]),
        "Stalled",
        "PipelineInvalid",
        "container guard: model echo is loaded, but does not answer",
    ),
    (
        "no node",
        rolling(pods=[unscheduled("0/3 nodes are available: 3 Insufficient cpu")]),
        "Reconciling",
        "WaitingForPod",
        "3 Insufficient cpu",
    ),
    (
        "no node for too long",
        rolling(pods=[{"age": 601, **unscheduled("3 Insufficient cpu")}]),
        "Stalled",
        "RolloutDeadlineExceeded",
        "3 Insufficient cpu",
    ),
    (
        "container can't be created",
        rolling(pods=[waits("triton", "CreateContainerConfigError", "secret not found")]),
        "Reconciling",
        "WaitingForPod",
        "secret not found",
    ),
    ("progress deadline", rolling(pods=[{}], conditions=EXPIRED), "Stalled", "RolloutDeadlineExceeded", "no progress for 600 s"),
    ("quota", rolling(pods=[], conditions=QUOTA), "Stalled", "ChildRefused", "exceeded quota: team"),
    (
        "an older revision's pod complains",
        rolling(pods=[ended("pipeline", code=65, message=NOT_FOUND, init=True)], stale=True),
        "Reconciling",
        "RollingOut",
        "",
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_rollout(row: tuple[str, Plan, str, str, str]) -> None:
    _, result, kind, reason, fragment = row
    assert result.status is not None
    found = {c["type"]: c for c in result.status["conditions"]}
    assert found[kind]["status"] == "True"
    assert found["Stalled" if kind == "Reconciling" else "Reconciling"]["status"] == "False"
    assert found[kind]["reason"] == reason
    assert fragment in found[kind]["message"]
    assert result.status["reason"] == reason
    assert found["Ready"]["status"] == "False"


def test_the_words_of_a_failing_pull_do_not_flap() -> None:
    """The kubelet alternates between two reasons with two messages: a status that follows them would be written every minute."""
    one = rolling(pods=[waits("pipeline", "ErrImagePull", "not found", init=True)])
    other = rolling(pods=[waits("pipeline", "ImagePullBackOff", PULL, init=True)])
    assert one.status == other.status


def test_time_alone_ends_a_wait() -> None:
    result = rolling(pods=[{"age": 60, **waits("pipeline", "ErrImagePull", "not found", init=True)}])
    assert result.wake_after == SETTINGS.image_deadline - 60 + 1


def test_an_older_pod_that_is_left_is_waited_for() -> None:
    objects = live.serving(OWNER)
    (deployment,) = (content for content in objects if content["kind"] == "Deployment")
    deployment["status"]["replicas"] = 2
    status = plan(OWNER, ObservedService.of(objects), settings=SETTINGS, now=NOW).status
    assert status is not None
    assert status["reason"] == "RollingOut"
