"""The engine store in a registry, as pods and objects see it: pushed by the build, pinned by digest, pulled by what serves."""

from typing import Any

import pytest

from tests.support import live
from tests.support.live import NOW, as_engine, ended, owned_service, summary
from tests.support.objects import REGISTRY, service
from vertical_engines.contract.build import BuildOutcome
from vertical_engines.contract.store import RegistryStoreRequest
from vertical_operator.api.v1alpha1 import Engine, parse
from vertical_operator.core.intents import Manifest, Plan
from vertical_operator.core.observed import ObservedEngine
from vertical_operator.core.plan import plan_engine
from vertical_operator.core.render.build_job import build_job
from vertical_operator.core.render.remove_job import remove_job
from vertical_operator.core.settings import OperatorSettings

SETTINGS = OperatorSettings()
DIGEST = f"sha256:{'a' * 64}"
REPOSITORY = REGISTRY["repository"]


def stored_in(registry: Manifest) -> Manifest:
    return service(("spec.engineStore", {"registry": registry}))


def engine_manifest(registry: Manifest = REGISTRY) -> Manifest:
    (manifest,) = live.applied(owned_service(stored_in(registry)), [], "Engine")
    return manifest


def volumes(spec: Manifest) -> dict[str, Any]:
    return {volume["name"]: volume for volume in spec["volumes"]}


def asked(container: Manifest) -> RegistryStoreRequest:
    (value,) = [variable["value"] for variable in container["env"] if variable["name"] == "VERTICAL_ENGINE_STORE"]
    return RegistryStoreRequest.model_validate_json(value)


def test_a_build_pushes_from_a_volume_of_its_own() -> None:
    spec = build_job(as_engine(engine_manifest()), SETTINGS)["spec"]["template"]["spec"]
    assert volumes(spec)["store"] == {"name": "store", "emptyDir": {}}
    assert volumes(spec)["registry-credentials"]["secret"] == {"secretName": "engines", "optional": True, "defaultMode": 0o440}
    build = spec["containers"][0]
    assert asked(build) == RegistryStoreRequest(repository=REPOSITORY, insecure=True, secret="engines")
    assert {"name": "registry-credentials", "mountPath": "/registry-credentials", "readOnly": True} in build["volumeMounts"]
    assert not any("registry-credentials" in str(init) for init in spec["initContainers"]), "nobody else sees the password"


def built(manifest: Manifest) -> Manifest:
    made = live.built_engine(manifest)
    made["status"]["manifest"]["artifact"] = f"{REPOSITORY}@{DIGEST}"
    return made


def test_what_serves_pulls_what_its_engine_s_build_reported() -> None:
    owner = owned_service(stored_in(REGISTRY))
    (deployment,) = live.applied(owner, [built(engine_manifest())], "Deployment")
    spec = deployment["spec"]["template"]["spec"]
    names = [container["name"] for container in spec["initContainers"]]
    assert names == ["tools", "pipeline", "pull", "assemble", "guard"]
    pull = spec["initContainers"][2]
    key = engine_manifest()["spec"]["key"]
    assert pull["command"] == ["vertical-engines", "pull", "--key", key, "--reference", DIGEST, "--store", "/store"]
    assert volumes(spec)["store"] == {"name": "store", "emptyDir": {}}
    triton = spec["containers"][0]
    assert {"name": "store", "mountPath": "/store", "readOnly": True} in triton["volumeMounts"]
    assert not any(mount["name"] == "registry-credentials" for mount in triton["volumeMounts"])


def test_no_claim_is_looked_for_or_made() -> None:
    assert live.applied(owned_service(stored_in(REGISTRY)), [], "PersistentVolumeClaim") == []
    engine = as_engine(engine_manifest())
    assert "Job" in {apply.manifest["kind"] for apply in planned(engine, []).applies}


def planned(engine: Engine, objects: list[Manifest]) -> Plan:
    return plan_engine(engine, ObservedEngine.of(objects), settings=SETTINGS, now=NOW)


def test_the_digest_stands_in_the_status() -> None:
    engine = as_engine(engine_manifest())
    job = live.stored(build_job(engine, SETTINGS))
    pushed = summary(engine.spec.key).model_copy(update={"artifact": f"{REPOSITORY}@{DIGEST}"})
    words = BuildOutcome(manifest=pushed).to_termination_message()
    pod = live.pod_of(job, **(ended("build", code=0, message=words, reason="Completed") | {"phase": "Succeeded"}))
    over = {**job, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    status = planned(engine, [over, pod]).status
    assert status is not None
    assert status["manifest"]["artifact"] == f"{REPOSITORY}@{DIGEST}"


@pytest.mark.parametrize(("on_delete", "kinds"), [("Keep", ["Engine"]), ("Delete", ["Job"])])
def test_an_engine_that_goes_is_removed_from_the_registry_only_when_that_is_wished(on_delete: str, kinds: list[str]) -> None:
    """Kept, the only step is to let go of the object; other clusters may serve what it left."""
    manifest = engine_manifest({**REGISTRY, "onDelete": on_delete})
    going = as_engine(manifest, deletionTimestamp=live.at(-1), finalizers=["serving.vertical-operator.io/store"])
    assert [apply.manifest["kind"] for apply in planned(going, []).applies] == kinds
    remover = remove_job(going, SETTINGS)["spec"]["template"]["spec"]["containers"][0]
    assert asked(remover).repository == REPOSITORY


def test_password_and_transport_are_a_road_and_may_change() -> None:
    plain, other = engine_manifest(), engine_manifest({**REGISTRY, "pullSecretRef": {"name": "other"}, "insecure": False})
    assert plain["spec"]["store"] == other["spec"]["store"] == {"repository": REPOSITORY}
    assert plain["metadata"]["name"] == other["metadata"]["name"]
    assert plain["spec"]["storeAccess"] != other["spec"]["storeAccess"]
    job = live.stored(build_job(as_engine(plain), SETTINGS))
    assert planned(as_engine(plain), [job]).deletes == ()
    assert len(planned(as_engine(other), [job]).deletes) == 1


def test_another_repository_is_another_engine_object() -> None:
    other = engine_manifest({**REGISTRY, "repository": "registry.storage:5000/others"})
    assert other["spec"]["key"] == engine_manifest()["spec"]["key"]
    assert other["metadata"]["name"] != engine_manifest()["metadata"]["name"]


def test_a_store_of_no_kind_is_no_engine() -> None:
    manifest = engine_manifest()
    manifest["spec"]["store"] = {}
    with pytest.raises(ValueError, match="claimName and repository"):
        parse(Engine, manifest)
