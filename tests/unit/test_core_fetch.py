"""The build of a model that is fetched: its init container, what may change about the road to it, and its progress in the status."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests.support import live
from tests.support.live import NOW, as_engine, at, owned_service
from tests.support.objects import HUB, OBJECT_STORE, service
from vertical_engines.contract.build import BuildRequest
from vertical_engines.contract.fetch import FetchRequest
from vertical_operator.api.v1alpha1 import Engine
from vertical_operator.core.intents import Manifest, Plan
from vertical_operator.core.observed import ObservedEngine
from vertical_operator.core.plan import plan_engine
from vertical_operator.core.render.build_job import build_job
from vertical_operator.core.settings import OperatorSettings

SETTINGS = OperatorSettings(hub_endpoint="https://mirror.example.com", model_proxy="http://proxy:3128", model_no_proxy=".svc")
PLAIN = {"repository": "org/model", "revision": "main"}
CLAIMS: list[Manifest] = [
    {"kind": "PersistentVolumeClaim", "metadata": {"name": name, "uid": f"uid-{name}"}, "status": {"phase": "Bound"}}
    for name in ("engines", "hub-cache")
]


def engine_manifest(**source: Any) -> Manifest:
    (manifest,) = live.applied(owned_service(service(("spec.model.source", source))), [], "Engine")
    return manifest


def engine(**source: Any) -> Engine:
    return as_engine(engine_manifest(**source))


def pod(made: Engine, settings: OperatorSettings = SETTINGS) -> Manifest:
    spec: Manifest = build_job(made, settings)["spec"]["template"]["spec"]
    return spec


def environment(container: Manifest) -> dict[str, str]:
    return {variable["name"]: variable["value"] for variable in container["env"]}


def asked(spec: Manifest) -> FetchRequest:
    return FetchRequest.model_validate_json(environment(spec["initContainers"][0])["VERTICAL_FETCH_REQUEST"])


def test_a_hub_is_fetched_by_one_init_container_through_the_installations_mirror_and_proxy() -> None:
    spec = pod(engine(huggingFace=PLAIN))
    (fetch,) = spec["initContainers"]
    assert (fetch["name"], fetch["command"]) == ("fetch", ["vertical-engines", "fetch", "--model", "/model"])
    assert asked(spec).access.endpoint == "https://mirror.example.com"
    assert {name: environment(fetch)[name] for name in ("HTTPS_PROXY", "NO_PROXY")} == {
        "HTTPS_PROXY": "http://proxy:3128",
        "NO_PROXY": ".svc",
    }
    assert environment(fetch)["HF_HUB_OFFLINE"] == "0", "images may have switched the hub off"
    build = spec["containers"][0]["command"]
    assert build == ["vertical-engines", "build", "--model", "/model/files", "--source-record", "/model/source.json", "--store", "/store"]


def test_a_source_s_own_road_wins_and_its_secret_is_a_file() -> None:
    spec = pod(engine(huggingFace={key: value for key, value in HUB.items() if key != "cache"}))
    access = asked(spec).access
    assert (access.endpoint, access.proxy, access.secret) == ("https://hub.example.com", "http://proxy.example.com:3128", "hub")
    (volume,) = [volume for volume in spec["volumes"] if volume["name"] == "credentials"]
    assert volume["secret"] == {"secretName": "hub", "optional": True, "defaultMode": 0o440, "items": [{"key": "token", "path": "token"}]}
    assert {"name": "credentials", "mountPath": "/credentials", "readOnly": True} in spec["initContainers"][0]["volumeMounts"]
    assert "credentials" not in json.dumps(spec["containers"]), "the build itself never sees the Secret"


def test_a_cache_is_read_without_endpoint_proxy_or_network_settings() -> None:
    spec = pod(engine(huggingFace=HUB))
    assert asked(spec).access.offline
    assert spec["initContainers"][0]["command"][-2:] == ["--hub-cache", "/hub-cache/hub"]
    assert "HTTPS_PROXY" not in environment(spec["initContainers"][0])
    assert {"name": "hub-cache", "persistentVolumeClaim": {"claimName": "hub-cache", "readOnly": True}} in spec["volumes"]


def test_an_object_store_keeps_its_own_endpoint_and_takes_all_keys_of_its_secret() -> None:
    spec = pod(engine(objectStore=OBJECT_STORE))
    access = asked(spec).access
    assert (access.endpoint, access.region) == ("http://minio.storage:9000", "eu-central-1")
    (volume,) = [volume for volume in spec["volumes"] if volume["name"] == "credentials"]
    assert "items" not in volume["secret"]
    assert asked(pod(engine(objectStore={"uri": "s3://models/small"}))).access.endpoint is None, "a hub's mirror is no object store"


def test_the_road_is_no_part_of_the_engine() -> None:
    plain, detour = engine(huggingFace=PLAIN), engine(huggingFace={**PLAIN, "endpoint": "https://other", "tokenSecretRef": {"name": "t"}})
    assert plain.spec.key == detour.spec.key
    assert plain.spec.identity == detour.spec.identity
    request = environment(pod(detour)["containers"][0])["VERTICAL_BUILD_REQUEST"]
    assert BuildRequest.model_validate_json(request).identity.key() == detour.spec.key
    assert engine(huggingFace={**PLAIN, "files": ["*.gguf"]}).spec.key != plain.spec.key


def planned(made: Engine, objects: list[Manifest], *, settings: OperatorSettings = SETTINGS, progress: str = "") -> Plan:
    observed = replace(ObservedEngine.of([*CLAIMS, *objects]), progress=progress)
    return plan_engine(made, observed, settings=settings, now=NOW + timedelta(seconds=1))


def test_a_corrected_road_makes_the_job_anew() -> None:
    wrong, right = engine(huggingFace={**PLAIN, "endpoint": "https://wrong"}), engine(huggingFace={**PLAIN, "endpoint": "https://right"})
    job = live.stored(build_job(wrong, SETTINGS))
    assert planned(wrong, [job]).deletes == ()
    assert [delete.ref.name for delete in planned(right, [job]).deletes] == [job["metadata"]["name"]]
    mirror = engine(huggingFace=PLAIN)
    moved = SETTINGS.model_copy(update={"hub_endpoint": "https://new-mirror.example.com"})
    assert planned(mirror, [live.stored(build_job(mirror, SETTINGS))], settings=moved).deletes != ()


def test_an_existing_engine_takes_the_road_of_its_first_owner() -> None:
    first = engine_manifest(huggingFace={**PLAIN, "tokenSecretRef": {"name": "old"}})
    objects = [live.stored(first)]
    changed = owned_service(service(("spec.model.source", {"huggingFace": {**PLAIN, "tokenSecretRef": {"name": "new"}}})))
    (again,) = live.applied(changed, objects, "Engine")
    assert again["spec"]["access"] == {"secret": {"name": "new", "key": "token"}}
    assert again["spec"]["identity"] == first["spec"]["identity"]


def test_offline_a_hub_without_a_cache_is_told_at_once_and_one_with_a_cache_is_built() -> None:
    offline = SETTINGS.model_copy(update={"offline": True})
    refused = planned(engine(huggingFace=PLAIN), [], settings=offline)
    assert refused.status is not None
    assert (refused.status["state"], "huggingFace.cache" in refused.status["message"]) == ("ModelSourceUnavailable", True)
    made = planned(engine(huggingFace=HUB), [], settings=offline).applies
    assert "Job" in {apply.manifest["kind"] for apply in made}
    assert "Job" not in {apply.manifest["kind"] for apply in refused.applies}


def test_a_missing_cache_claim_is_waited_for_by_name() -> None:
    made = engine(huggingFace=HUB)
    result = plan_engine(made, ObservedEngine.of([CLAIMS[0]]), settings=SETTINGS, now=NOW)
    assert result.status is not None
    assert "hub-cache" in result.status["message"]


def fetching_pod(job: Manifest, **state: Any) -> Manifest:
    made = live.pod_of(job, phase="Pending", podIP="10.0.0.7")
    made["status"]["initContainerStatuses"] = [{"name": "fetch", "state": state, "restartCount": 0}]
    return made


def test_progress_stands_in_the_message_alone_and_is_asked_for_again_while_it_flows() -> None:
    made = engine(huggingFace=PLAIN)
    job = live.stored(build_job(made, SETTINGS)) | {"status": {"startTime": at(-60)}}
    running = fetching_pod(job, running={"startedAt": at(-50)})
    assert ObservedEngine.of([job, running]).fetching_at == "10.0.0.7"
    result = planned(made, [job, running], progress="fetching: 5.0 MB of 10.0 MB (50 %, 1.0 MB/s, 5 s left)")
    assert result.status is not None
    assert result.status["message"].startswith("fetching: 5.0 MB of 10.0 MB")
    assert not any("fetching" in condition["message"] for condition in result.status["conditions"])
    assert result.wake_after is not None
    assert 10 <= result.wake_after < 15
    over = fetching_pod(job, terminated={"exitCode": 0})
    assert ObservedEngine.of([job, over]).fetching_at is None
    assert planned(made, [job, over]).wake_after is None
