"""The Deployment of one placement: fetch the pipeline, assemble the repository, guard and serve."""

from vertical_engines.contract.frozen import digest
from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.serving import (
    CONFIG_PATH,
    GUARD_PORT,
    HTTP_PORT,
    PIPELINE_PATH,
    PYTHON_PATH,
    REPOSITORY_PATH,
    STORE_PATH,
)
from vertical_operator.api.v1alpha1.group import (
    DEPLOYMENT,
    ENGINE_KEY_ANNOTATION,
    GPU_RESOURCE,
    INTENT_ANNOTATION,
    REVISION_ANNOTATION,
    VERTICAL_SERVICE,
)
from vertical_operator.core.identity import Target, store_access
from vertical_operator.core.intents import Manifest
from vertical_operator.core.names import labels, owner_reference
from vertical_operator.core.render.pod import (
    SCRATCH_MOUNT,
    SCRATCH_VOLUME,
    TOOLS_VOLUME,
    container,
    copy_container,
    empty_volume,
    mount,
    node_selector,
    pod_spec,
    shared_memory,
    tolerations,
    tools_container,
)
from vertical_operator.core.render.store import pull_container, store_volumes
from vertical_operator.core.render.triton import triton
from vertical_operator.core.settings import OperatorSettings

GRACE = 120
"""Seconds: more than the guard's longest drain and Triton's exit together."""


def _pipeline(target: Target) -> Manifest:
    image = target.service.spec.pipeline.image
    folder = mount("pipeline", PIPELINE_PATH)
    name = "pipeline image"
    return copy_container("pipeline", image.reference, path=image.path, target=folder, reason=Reason.PIPELINE_INVALID, source=name)


def _assemble(target: Target) -> Manifest:
    return container(
        "assemble",
        target.identity.toolchain.image,
        command=["vertical-engines", "assemble"],
        mounts=[
            mount("pipeline", PIPELINE_PATH, read_only=True),
            mount("repository", REPOSITORY_PATH),
            mount("repository-python", PYTHON_PATH),
            mount("config", CONFIG_PATH, read_only=True),
            mount("store", STORE_PATH, read_only=True),
            SCRATCH_MOUNT,
        ],
        **_gpu_limits(target),
    )


def _gpu_limits(target: Target) -> Manifest:
    """The check of manifest against GPU needs to see the GPU; init containers don't add to the pod's sum."""
    accelerator = target.identity.accelerator
    return {"resources": {"limits": {GPU_RESOURCE: accelerator.count}}} if accelerator else {}


def _guard(target: Target) -> Manifest:
    return container(
        "guard",
        target.identity.toolchain.image,
        command=["vertical-engines", "guard"],
        mounts=[mount("config", CONFIG_PATH, read_only=True), mount("repository", REPOSITORY_PATH, read_only=True), SCRATCH_MOUNT],
        restartPolicy="Always",
        ports=[{"name": "http", "containerPort": HTTP_PORT}, {"name": "guard", "containerPort": GUARD_PORT}],
        resources={"requests": {"cpu": "10m", "memory": "64Mi"}},
    )


def _volumes(target: Target, config_map: str) -> list[Manifest]:
    return [
        TOOLS_VOLUME,
        empty_volume("pipeline"),
        empty_volume("repository"),
        empty_volume("repository-python"),
        {"name": "config", "configMap": {"name": config_map}},
        *store_volumes(target.store, store_access(target.service)),
        SCRATCH_VOLUME,
        shared_memory(target.identity.accelerator),
    ]


def _template(target: Target, config_map: str, *, settings: OperatorSettings, artifact: str | None) -> Manifest:
    accelerator, placement, image = target.identity.accelerator, target.placement, target.identity.toolchain.image
    pull = pull_container(target.store, store_access(target.service), image=image, key=target.key, artifact=artifact)
    spec = pod_spec(
        volumes=_volumes(target, config_map),
        init=[tools_container(image), _pipeline(target), *pull, _assemble(target), _guard(target)],
        main=triton(target, start_deadline=settings.rollout_deadline),
        nodes=node_selector(placement.node_selector, accelerator),
        tolerated=tolerations(placement.tolerations, accelerator),
        pull_secrets=[secret.name for secret in target.service.spec.image_pull_secrets],
        terminationGracePeriodSeconds=GRACE,
    )
    own = labels(service=target.service.metadata.name, variant=target.variant.name, placement=target.placement.name, engine=target.engine)
    annotations = {ENGINE_KEY_ANNOTATION: target.key, REVISION_ANNOTATION: digest({"labels": own, "spec": spec})[:16]}
    return {"metadata": {"labels": own, "annotations": annotations}, "spec": spec}


def deployment(target: Target, *, config_map: str, settings: OperatorSettings, artifact: str | None = None) -> Manifest:
    """`config_map` is the name of the placement's ConfigMap, `artifact` the engine in a registry. New pods come up before old ones go."""
    service = target.service.metadata
    own = labels(service=service.name, variant=target.variant.name, placement=target.placement.name)
    manifest: Manifest = {
        "apiVersion": DEPLOYMENT.api_version,
        "kind": DEPLOYMENT.name,
        "metadata": {
            "name": target.workload,
            "namespace": service.namespace,
            "labels": own,
            "annotations": {ENGINE_KEY_ANNOTATION: target.key},
            "ownerReferences": [owner_reference(VERTICAL_SERVICE.name, service)],
        },
        "spec": {
            "replicas": target.placement.replicas,
            "selector": {"matchLabels": own},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "progressDeadlineSeconds": settings.rollout_deadline,
            "revisionHistoryLimit": 2,
            "template": _template(target, config_map, settings=settings, artifact=artifact),
        },
    }
    manifest["metadata"]["annotations"][INTENT_ANNOTATION] = digest(manifest)[:16]
    return manifest


def revision(manifest: Manifest) -> str:
    """Digest of the pod template, as pods of this Deployment carry it."""
    annotations: dict[str, str] = manifest["spec"]["template"]["metadata"]["annotations"]
    return annotations[REVISION_ANNOTATION]


def intent(manifest: Manifest) -> str:
    """Digest of everything that is applied."""
    annotations: dict[str, str] = manifest["metadata"]["annotations"]
    return annotations[INTENT_ANNOTATION]
