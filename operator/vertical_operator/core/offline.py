"""Every child of a service without a cluster: what `vertical-operator render` prints and golden files hold."""

from vertical_engines.contract.reasons import Reason
from vertical_operator.api.v1alpha1.engine import Engine
from vertical_operator.api.v1alpha1.parse import parse
from vertical_operator.api.v1alpha1.vertical_service import VerticalService
from vertical_operator.core.finding import Finding
from vertical_operator.core.identity import Target, targets
from vertical_operator.core.intents import Manifest
from vertical_operator.core.policies import objection
from vertical_operator.core.render.build_job import build_job
from vertical_operator.core.render.claim import claim
from vertical_operator.core.render.configmap import config_map
from vertical_operator.core.render.deployment import deployment
from vertical_operator.core.render.engine import engine
from vertical_operator.core.render.service import variant_service
from vertical_operator.core.settings import OperatorSettings

NO_UID = "00000000-0000-0000-0000-000000000000"
"""Stands in owner references for a UID that only the API server can give."""


class Refused(ValueError):
    """A placement can't be built or served as written. `reason` is of the enumeration."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(f"{reason.value}: {message}")
        self.reason = reason


def children(service: VerticalService, settings: OperatorSettings) -> tuple[Manifest, ...]:
    """All children as if every engine were built, build Jobs included. Raises Refused for the first placement that can't be resolved."""
    if not service.metadata.uid:
        service = service.model_copy(update={"metadata": service.metadata.model_copy(update={"uid": NO_UID})})
    wanted = [_accepted(target) for target in targets(service, settings)]
    engines = {target.engine: engine(target, None).manifest for target in reversed(wanted)}
    jobs = [build_job(_made(manifest), settings) for _, manifest in sorted(engines.items())]
    store = claim(service)
    workloads = []
    for target in wanted:
        plan_file = config_map(target)
        workloads += [plan_file, deployment(target, config_map=plan_file["metadata"]["name"], settings=settings)]
    return (
        *([store] if store else []),
        *(manifest for _, manifest in sorted(engines.items())),
        *jobs,
        *(variant_service(service, variant) for variant in service.spec.variants),
        *workloads,
    )


def _made(manifest: Manifest) -> Engine:
    return parse(Engine, {**manifest, "metadata": {**manifest["metadata"], "uid": NO_UID}})


def _accepted(target: Target | Finding) -> Target:
    if isinstance(target, Finding):
        raise Refused(target.reason, target.message)
    if found := objection(target):
        raise Refused(found.reason, found.message)
    return target
