"""The small parts of the shell: keys of an object, re-list detection, transitions, settings, logs, vitals and the HTTP server."""

import io
import json
import logging
from typing import Any

import aiohttp
import pytest

from vertical_operator.api.v1alpha1.group import API_VERSION, ENGINE_LABEL, SERVICE_LABEL
from vertical_operator.runtime.health import LAG_SECONDS, STUCK_SECONDS, Vitals, http_application, serve_http
from vertical_operator.runtime.keys import Key, keys_of
from vertical_operator.runtime.logs import JsonFormatter, configure_logs
from vertical_operator.runtime.metrics import Metrics
from vertical_operator.runtime.relist import RelistDetector
from vertical_operator.runtime.settings import BadSetting, RuntimeSettings
from vertical_operator.runtime.transitions import transitions

SERVICE = Key("VerticalService", "n", "poi")
ENGINE = Key("Engine", "n", "engine-1")
OWNER = {"apiVersion": API_VERSION, "kind": "VerticalService", "name": "poi", "uid": "u"}


@pytest.mark.parametrize(
    ("kind", "api_version", "metadata", "expected"),
    [
        ("VerticalService", API_VERSION, {"name": "poi"}, {SERVICE}),
        (
            "Engine",
            API_VERSION,
            {"name": "engine-1", "ownerReferences": [OWNER, OWNER | {"name": "b"}]},
            {ENGINE, SERVICE, Key("VerticalService", "n", "b")},
        ),
        ("Deployment", "apps/v1", {"name": "x", "labels": {SERVICE_LABEL: "poi"}}, {SERVICE}),
        ("Deployment", "apps/v1", {"name": "x", "labels": None, "ownerReferences": [OWNER]}, {SERVICE}),
        ("Pod", "v1", {"name": "x", "labels": {SERVICE_LABEL: "poi", ENGINE_LABEL: "engine-1"}}, {SERVICE}),
        ("Pod", "v1", {"name": "x", "labels": {ENGINE_LABEL: "engine-1"}}, {ENGINE}),
        ("Pod", "v1", {"name": "x", "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u"}]}, set()),
        ("Engine", "other.example.com/v1", {"name": "engine-1"}, set()),
        ("ConfigMap", "v1", {"name": "x", "ownerReferences": [OWNER | {"apiVersion": "other.example.com/v1"}]}, set()),
    ],
)
def test_keys_of_an_object(kind: str, api_version: str, metadata: dict[str, Any], expected: set[Key]) -> None:
    assert keys_of({"kind": kind, "apiVersion": api_version, "metadata": {"namespace": "n", **metadata}}) == expected


def test_only_an_object_that_is_listed_again_means_a_second_list() -> None:
    detector = RelistDetector()
    assert not detector.is_relist(None, uid="a")
    assert not detector.is_relist("ADDED", uid="b")
    assert not detector.is_relist("MODIFIED", uid="a")
    assert detector.is_relist(None, uid="a")
    assert detector.is_relist(None, uid="b")
    assert not detector.is_relist("DELETED", uid="a")
    assert not detector.is_relist(None, uid="a")


def condition(kind: str, status: str, reason: str = "R") -> dict[str, str]:
    return {"type": kind, "status": status, "reason": reason, "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("before", "after", "events"),
    [
        (None, condition("Ready", "Unknown"), []),
        (None, condition("Ready", "True"), [("Ready", False)]),
        (condition("Ready", "False"), condition("Ready", "True"), [("Ready", False)]),
        (condition("Ready", "True"), condition("Ready", "False"), [("Ready", True)]),
        (condition("Ready", "Unknown"), condition("Ready", "False"), []),
        (condition("Stalled", "False"), condition("Stalled", "True"), [("Stalled", True)]),
        (condition("Stalled", "True", "A"), condition("Stalled", "True", "B"), [("Stalled", True)]),
        (condition("Stalled", "True", "A"), condition("Stalled", "True", "A"), []),
        (condition("Stalled", "True"), condition("Stalled", "False"), [("Stalled", False)]),
        (condition("Reconciling", "False"), condition("Reconciling", "True"), []),
        (condition("EnginesReady", "False"), condition("EnginesReady", "True"), []),
    ],
)
def test_people_hear_of_serving_and_of_being_stuck(
    before: dict[str, str] | None, after: dict[str, str], events: list[tuple[str, bool]]
) -> None:
    found = transitions({"conditions": [before] if before else []}, {"conditions": [after]})
    assert [(t.type, t.is_warning) for t in found if t.is_worth_an_event] == events


def test_a_transition_needs_another_status_not_another_message() -> None:
    before, after = condition("Ready", "False", "Building"), condition("Ready", "False", "RollingOut") | {"message": "other"}
    assert transitions({"conditions": [before]}, {"conditions": [after]}) == []


def test_settings_come_from_the_environment() -> None:
    settings = RuntimeSettings.from_environment(
        {
            "OPERATOR_NAMESPACE": "vo",
            "OPERATOR_WATCH_NAMESPACES": " a, b,",
            "OPERATOR_TOOLCHAIN_IMAGES": '{"OpenVINO/2026.4": "x:1"}',
            "OPERATOR_WORKERS": "3",
            "OPERATOR_IMAGE_REGISTRY": "",
            "PATH": "/bin",
        }
    )
    assert (settings.namespace, settings.watch_namespaces, settings.workers) == ("vo", ("a", "b"), 3)
    assert (settings.toolchain_images, settings.image_registry) == ({"OpenVINO/2026.4": "x:1"}, "")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WORKERS", "0"),
        ("WORKERS", "many"),
        ("LOG_LEVEL", "LOUD"),
        ("HTTP_PORT", "70000"),
        ("TOOLCHAIN_IMAGES", "{"),
        ("TOOLCHAIN_IMAGES", "[1]"),
    ],
)
def test_a_bad_setting_is_named(name: str, value: str) -> None:
    with pytest.raises(BadSetting, match=f"OPERATOR_{name}"):
        RuntimeSettings.from_environment({f"OPERATOR_{name}": value})


def test_a_log_line_is_one_json_object_with_its_fields() -> None:
    stream = io.StringIO()
    root, before = logging.getLogger(), logging.getLogger().handlers[:]
    try:
        configure_logs("INFO", stream=stream)
        logging.getLogger("vertical_operator.x").info("it %s", "works", extra={"fields": {"key": SERVICE, "generation": 2}})
        logging.getLogger("kopf.objects").info("Handler succeeded")
    finally:
        root.handlers[:] = before
    (line,) = stream.getvalue().splitlines()
    content = json.loads(line)
    assert (content["message"], content["generation"], content["level"]) == ("it works", 2, "INFO")


def test_a_traceback_stays_in_its_line() -> None:
    try:
        raise ValueError("boom")
    except ValueError as error:
        record = logging.LogRecord("x", logging.ERROR, "f", 1, "failed", (), (ValueError, error, error.__traceback__))
    text = JsonFormatter().format(record)
    assert "\n" not in text
    assert "boom" in json.loads(text)["traceback"]


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_vitals_complain_only_when_work_waits_and_nothing_moves() -> None:
    clock, waiting = Clock(), [0]
    vitals = Vitals(clock=clock, waiting=lambda: waiting[0], progressed_at=clock.now)
    clock.now += STUCK_SECONDS * 10
    assert vitals.complaint() is None
    waiting[0] = 3
    assert "3 keys wait" in (vitals.complaint() or "")
    vitals.progressed_at = clock.now
    assert vitals.complaint() is None
    vitals.lag = LAG_SECONDS + 1
    assert "late" in (vitals.complaint() or "")


async def test_the_http_server_answers_the_kubelet_and_prometheus() -> None:
    clock = Clock()
    metrics = Metrics()
    vitals = Vitals(clock=clock, waiting=lambda: 1, progressed_at=clock.now)
    metrics.count_request("apply", "Deployment", 200)
    async with serve_http(http_application(vitals, metrics=metrics), host="127.0.0.1", port=0) as port, aiohttp.ClientSession() as session:

        async def get(path: str) -> tuple[int, str]:
            async with session.get(f"http://127.0.0.1:{port}{path}") as answer:
                return answer.status, await answer.text()

        assert await get("/healthz") == (200, "ok")
        assert await get("/readyz") == (503, "starting")
        vitals.ready = True
        assert await get("/readyz") == (200, "standby")
        vitals.leads = True
        assert await get("/readyz") == (200, "leader")
        clock.now += STUCK_SECONDS + 1
        assert (await get("/healthz"))[0] == 500
        status, text = await get("/metrics")
        assert status == 200
        assert 'vertical_operator_api_requests_total{code="200",kind="Deployment",verb="apply"} 1.0' in text


def conditions_of(metrics: Metrics) -> dict[tuple[str, str], float]:
    return {(s.labels["type"], s.labels["status"]): s.value for m in metrics.conditions.collect() for s in m.samples if s.value}


def test_objects_are_counted_by_the_conditions_that_they_have_now() -> None:
    metrics = Metrics()
    other = Key("VerticalService", "n", "other")
    metrics.observe_conditions(SERVICE, {"conditions": [condition("Ready", "False"), condition("Stalled", "True")]})
    metrics.observe_conditions(other, {"conditions": [condition("Ready", "True")]})
    assert conditions_of(metrics) == {("Ready", "False"): 1, ("Stalled", "True"): 1, ("Ready", "True"): 1}
    metrics.observe_conditions(SERVICE, {"conditions": [condition("Ready", "True"), condition("Stalled", "False")]})
    metrics.observe_conditions(SERVICE, {"conditions": [condition("Ready", "True"), condition("Stalled", "False")]})
    assert conditions_of(metrics) == {("Ready", "True"): 2, ("Stalled", "False"): 1}
    metrics.observe_conditions(SERVICE, None)
    metrics.observe_conditions(Key("Engine", "n", "never-seen"), None)
    assert conditions_of(metrics) == {("Ready", "True"): 1}
