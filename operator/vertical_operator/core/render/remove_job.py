"""The Job that removes a deleted engine's files from the store."""

from vertical_engines.contract.serving import STORE_PATH
from vertical_operator.api.v1alpha1.engine import Engine
from vertical_operator.core.intents import Manifest
from vertical_operator.core.names import remove_job_name
from vertical_operator.core.render.build_job import job, scheduling_digest
from vertical_operator.core.render.pod import (
    SCRATCH_MOUNT,
    SCRATCH_VOLUME,
    container,
    node_selector,
    pod_spec,
    tolerations,
)
from vertical_operator.core.render.store import store_environment, store_mounts, store_volumes
from vertical_operator.core.settings import OperatorSettings


def remove_job(engine: Engine, settings: OperatorSettings) -> Manifest:
    """On a node of the same kind, where the image is at hand, but without its GPU."""
    identity, scheduling = engine.spec.identity, engine.spec.scheduling
    environment = store_environment(engine.spec.store, engine.spec.store_access)
    main = container(
        "remove",
        identity.toolchain.image,
        command=["vertical-engines", "remove", "--store", STORE_PATH, "--key", engine.spec.key],
        mounts=[*store_mounts(engine.spec.store, engine.spec.store_access), SCRATCH_MOUNT],
        **({"env": environment} if environment else {}),
    )
    spec = pod_spec(
        volumes=[*store_volumes(engine.spec.store, engine.spec.store_access), SCRATCH_VOLUME],
        init=[],
        main=main,
        nodes=node_selector(scheduling.node_selector, identity.accelerator),
        tolerated=tolerations(scheduling.tolerations, identity.accelerator),
        pull_secrets=[secret.name for secret in scheduling.image_pull_secrets],
        restartPolicy="Never",
    )
    name = remove_job_name(engine.metadata.name)
    return job(
        engine,
        name=name,
        spec=spec,
        key=engine.spec.key,
        intent=scheduling_digest(engine),
        backoffLimit=3,
        activeDeadlineSeconds=settings.remove_deadline,
    )
