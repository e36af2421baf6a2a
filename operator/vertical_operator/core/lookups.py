"""What has to be read from the API server before a plan can be made."""

from vertical_operator.api.v1alpha1 import Engine, VerticalService
from vertical_operator.api.v1alpha1.group import (
    CLAIM,
    CONFIG_MAP,
    DEPLOYMENT,
    ENGINE,
    GPU_PRODUCT_LABEL,
    JOB,
    NAMESPACE,
    NODE,
    POD,
    SERVICE,
)
from vertical_operator.core.identity import Target, store_claim, targets
from vertical_operator.core.intents import Listing, Lookups, Ref
from vertical_operator.core.names import build_job_name, labels, remove_job_name, selector
from vertical_operator.core.render.configmap import config_map
from vertical_operator.core.render.service import service_name
from vertical_operator.core.settings import OperatorSettings

LABELLED = (DEPLOYMENT, SERVICE, CONFIG_MAP, POD)


def service_lookups(service: VerticalService, settings: OperatorSettings) -> Lookups:
    """Children by label; wanted children by name too, since a foreign object without our labels may stand there; Engines; GPU nodes."""
    namespace = service.metadata.namespace
    wanted = [target for target in targets(service, settings) if isinstance(target, Target)]
    own = selector(labels(service=service.metadata.name))
    names = (
        *((CLAIM, claim) for claim in (store_claim(service),) if claim),
        *((DEPLOYMENT, target.workload) for target in wanted),
        *((SERVICE, service_name(service.metadata, variant)) for variant in service.spec.variants),
        *((CONFIG_MAP, config_map(target)["metadata"]["name"]) for target in wanted),
    )
    lists = [*(Listing(kind, namespace, own) for kind in LABELLED), Listing(ENGINE, namespace, selector(labels()))]
    if any(target.identity.accelerator for target in wanted):
        lists.append(Listing(NODE, None, GPU_PRODUCT_LABEL))
    return Lookups(gets=tuple(Ref(kind, namespace, name) for kind, name in names), lists=tuple(lists))


def engine_lookups(engine: Engine) -> Lookups:
    """Its Jobs and claims by name, pods by label, and the namespace while the engine is being deleted."""
    namespace, name = engine.metadata.namespace, engine.metadata.name
    gets = [
        *(Ref(CLAIM, namespace, claim) for claim in (engine.spec.store.claim_name,) if claim),
        Ref(JOB, namespace, build_job_name(name)),
        Ref(JOB, namespace, remove_job_name(name)),
    ]
    source, cache = engine.spec.identity.source.persistent_volume_claim, engine.spec.access.cache
    gets += [Ref(CLAIM, namespace, claim.claim_name) for claim in (source, cache) if claim]
    if engine.metadata.deletion_timestamp:
        gets.append(Ref(NAMESPACE, None, namespace))
    return Lookups(gets=tuple(gets), lists=(Listing(POD, namespace, selector(labels(engine=name))),))
