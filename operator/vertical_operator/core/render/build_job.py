"""The Job that builds an engine into the store."""

from typing import Any

from vertical_engines.contract.additions import needed_for
from vertical_engines.contract.build import EXIT_USER_ERROR, REQUEST_VARIABLE, BuildRequest
from vertical_engines.contract.frozen import digest
from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.serving import MODEL_PATH, STORE_PATH
from vertical_engines.contract.toolchains import Toolchains
from vertical_operator.api.v1alpha1.engine import Engine
from vertical_operator.api.v1alpha1.group import ENGINE, ENGINE_KEY_ANNOTATION, INTENT_ANNOTATION, JOB, QUEUE_LABEL
from vertical_operator.core.intents import Manifest
from vertical_operator.core.names import build_job_name, labels, owner_reference
from vertical_operator.core.render.fetch import FILES_PATH, RECORD_PATH, fetch_container, fetch_volumes, is_fetched
from vertical_operator.core.render.pod import (
    SCRATCH_MOUNT,
    SCRATCH_VOLUME,
    TOOLS_VOLUME,
    claim_volume,
    container,
    copy_container,
    empty_volume,
    mount,
    node_selector,
    pod_spec,
    resources,
    shared_memory,
    tolerations,
    tools_container,
)
from vertical_operator.core.render.store import store_environment, store_mounts, store_volumes
from vertical_operator.core.settings import OperatorSettings

FAILURE_POLICY: Manifest = {
    "rules": [
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [EXIT_USER_ERROR]}},
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
    ]
}
"""What no retry can cure fails at once; an evicted pod is not counted."""

CHECK_SCRIPT = """\
b=/bin/busybox
[ -e "$1" ] && exit 0
there=$1
while [ ! -d "$there" ]; do there=$("$b" dirname "$there"); done
content=$("$b" ls -A "$there" | "$b" head -n 20 | "$b" tr -d '"\\\\' | "$b" tr '\\n' ' ')
printf '{"failure":{"reason":"ModelNotFound","message":"claim %s has no %s; it holds: %s"}}' "$2" "$3" "$content" > /dev/termination-log
exit EXIT
""".replace("EXIT", str(EXIT_USER_ERROR))


def source_volume(engine: Engine) -> Manifest:
    """Where the model stands during the build: a claim read in place, or an empty folder that an image is copied to."""
    claim = engine.spec.identity.source.persistent_volume_claim
    return claim_volume("model", claim.claim_name, read_only=True) if claim else empty_volume("model")


def _fetch(engine: Engine, settings: OperatorSettings) -> list[Manifest]:
    if is_fetched(engine):
        return [fetch_container(engine, settings)]
    identity = engine.spec.identity
    image, claim = identity.source.image, identity.source.persistent_volume_claim
    if image:
        copy = copy_container(
            "model",
            image.reference,
            path=image.path,
            target=mount("model", MODEL_PATH),
            reason=Reason.MODEL_NOT_FOUND,
            source="model image",
        )
        return [tools_container(identity.toolchain.image), copy]
    if claim:
        command = ["/bin/busybox", "sh", "-c", CHECK_SCRIPT, "sh", _model_folder(engine), claim.claim_name, claim.path]
        return [container("model", identity.toolchain.image, command=command, mounts=[mount("model", MODEL_PATH, read_only=True)])]
    return []


def _model_folder(engine: Engine) -> str:
    claim = engine.spec.identity.source.persistent_volume_claim
    if is_fetched(engine):
        return FILES_PATH
    return f"{MODEL_PATH}/{claim.path}".rstrip("/") if claim else MODEL_PATH


def _additions(engine: Engine, settings: OperatorSettings) -> Toolchains | None:
    toolchain, accelerator = engine.spec.identity.toolchain, engine.spec.identity.accelerator
    row = settings.matrix.release(backend=toolchain.backend, name=toolchain.release)
    return needed_for(row, settings.matrix, product=accelerator.product if accelerator else None) if row else None


def _several(engine: Engine) -> bool:
    """An engine of several GPUs is tried by as many processes, which exchange through shared memory."""
    accelerator = engine.spec.identity.accelerator
    return accelerator is not None and accelerator.count > 1


def _build(engine: Engine, settings: OperatorSettings) -> Manifest:
    identity, scheduling = engine.spec.identity, engine.spec.scheduling
    # The kubelet expands $(NAME) and $$ in values; doubled, every $ arrives as it was.
    request = BuildRequest(key=engine.spec.key, identity=identity, toolchains=_additions(engine, settings)).to_json().replace("$", "$$")
    record = ["--source-record", RECORD_PATH] if is_fetched(engine) else []
    return container(
        "build",
        identity.toolchain.image,
        command=["vertical-engines", "build", "--model", _model_folder(engine), *record, "--store", STORE_PATH],
        mounts=[
            mount("model", MODEL_PATH, read_only=identity.source.persistent_volume_claim is not None),
            *store_mounts(engine.spec.store, engine.spec.store_access),
            SCRATCH_MOUNT,
            *([mount("shared-memory", "/dev/shm")] if _several(engine) else []),
        ],
        env=[
            {"name": REQUEST_VARIABLE, "value": request},
            {"name": "HOME", "value": "/tmp"},
            *store_environment(engine.spec.store, engine.spec.store_access),
        ],
        resources=resources(scheduling.resources, identity.accelerator),
        # Of a build that could not leave words of its own.
        terminationMessagePolicy="FallbackToLogsOnError",
    )


def job(engine: Engine, *, name: str, spec: Manifest, key: str, intent: str, queue: str | None = None, **limits: Any) -> Manifest:
    """A Job of an Engine around a pod; its `intent` tells whether it was made for the Engine as it is now.

    In a queue it is Kueue that suspends the Job and lets it go: `suspend` is never applied here, so nobody fights over it.
    """
    own = labels(engine=engine.metadata.name)
    return {
        "apiVersion": JOB.api_version,
        "kind": JOB.name,
        "metadata": {
            "name": name,
            "namespace": engine.metadata.namespace,
            "labels": own | ({QUEUE_LABEL: queue} if queue else {}),
            "annotations": {ENGINE_KEY_ANNOTATION: key, INTENT_ANNOTATION: intent},
            "ownerReferences": [owner_reference(ENGINE.name, engine.metadata)],
        },
        "spec": {**limits, "template": {"metadata": {"labels": own, "annotations": {ENGINE_KEY_ANNOTATION: key}}, "spec": spec}},
    }


def scheduling_digest(engine: Engine) -> str:
    """Of where and with what a pod of the Engine runs."""
    return digest(engine.spec.scheduling.model_dump(mode="json", by_alias=True, exclude_none=True))[:16]


def build_intent(engine: Engine, settings: OperatorSettings) -> str:
    """Of everything that may change about a build: a Job's template can't be changed, so a Job of another intent is made anew."""
    road: list[Any] = [fetch_container(engine, settings), fetch_volumes(engine)] if is_fetched(engine) else []
    store = engine.spec.store_access if engine.spec.store.repository else None
    road += [store.secret, store.insecure] if store else []
    return digest([scheduling_digest(engine), road])[:16] if road else scheduling_digest(engine)


def build_job(engine: Engine, settings: OperatorSettings) -> Manifest:
    """The wanted build Job; it is applied only while the engine is not built."""
    identity, scheduling = engine.spec.identity, engine.spec.scheduling
    spec = pod_spec(
        volumes=[
            TOOLS_VOLUME,
            source_volume(engine),
            *fetch_volumes(engine),
            *store_volumes(engine.spec.store, engine.spec.store_access),
            SCRATCH_VOLUME,
            *([shared_memory(identity.accelerator)] if _several(engine) else []),
        ],
        init=_fetch(engine, settings),
        main=_build(engine, settings),
        nodes=node_selector(scheduling.node_selector, identity.accelerator),
        tolerated=tolerations(scheduling.tolerations, identity.accelerator),
        pull_secrets=[secret.name for secret in scheduling.image_pull_secrets],
        restartPolicy="Never",
    )
    return job(
        engine,
        name=build_job_name(engine.metadata.name),
        spec=spec,
        key=engine.spec.key,
        intent=build_intent(engine, settings),
        queue=scheduling.queue_name,
        backoffLimit=settings.build_retries,
        activeDeadlineSeconds=settings.build_deadline,
        podFailurePolicy=FAILURE_POLICY,
    )
