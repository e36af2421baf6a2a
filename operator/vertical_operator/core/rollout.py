"""How one placement is doing: its engine, then its Deployment and pods."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from vertical_engines.contract.engine import short_key
from vertical_engines.contract.reasons import Reason
from vertical_operator.api.v1alpha1.conditions import known_reason
from vertical_operator.api.v1alpha1.engine import Engine
from vertical_operator.api.v1alpha1.group import CONFIG_MAP, DEPLOYMENT, SERVICE, VERTICAL_SERVICE
from vertical_operator.api.v1alpha1.variant import Placement, Variant
from vertical_operator.api.v1alpha1.vertical_service import VerticalService
from vertical_operator.core.complaints import complaint
from vertical_operator.core.finding import Finding
from vertical_operator.core.identity import Target, resolve
from vertical_operator.core.intents import Manifest
from vertical_operator.core.lost_store import lost_store
from vertical_operator.core.names import child_name
from vertical_operator.core.observed import DeploymentState, ObservedService
from vertical_operator.core.pods import PodState
from vertical_operator.core.policies import objection
from vertical_operator.core.render.configmap import config_map
from vertical_operator.core.render.deployment import deployment, intent, revision
from vertical_operator.core.render.engine import owns
from vertical_operator.core.render.service import service_name
from vertical_operator.core.settings import OperatorSettings
from vertical_operator.core.verdict import Verdict, after, foreign, stalled, until, waiting, well


@dataclass(frozen=True)
class Progress:
    """One placement: what is wanted of it, what of it lives, and the verdict."""

    variant: Variant
    placement: Placement
    target: Target | None
    """None when the spec resolves to no engine."""
    engine: Engine | None
    live: DeploymentState | None
    """Our Deployment; a foreign one is no part of it."""
    verdict: Verdict
    built: bool = False
    engine_wanted: bool = False
    """The Engine is to be applied."""
    engine_lost: bool = False
    """The Engine is to be deleted, for its files are gone or about to go."""
    children: tuple[Manifest, ...] = ()
    """ConfigMap and Deployment, once the engine is built."""
    covered: bool = False
    """A placement that is wanted no more answers for the variant until this one does."""

    @property
    def answers(self) -> bool:
        """Something does, of whatever revision; nothing has to where no replica is wanted."""
        return self.placement.replicas == 0 or (self.live is not None and self.live.ready > 0)

    @property
    def serves(self) -> bool:
        return self.answers or self.covered


def is_built(engine: Engine) -> bool:
    """The manifest is known and the Engine says Ready."""
    ready = any(c.type == "Ready" and c.status == "True" for c in engine.status.conditions)
    return engine.status.manifest is not None and ready


def engine_verdict(target: Target, engine: Engine | None) -> Verdict | None:
    """None: built, go on."""
    if engine is None:
        return waiting(Reason.WAITING_FOR_ENGINE, f"{target.where}: Engine {target.engine} is being made")
    if engine.spec.key != target.key:
        return stalled(Reason.NOT_OWNED, f"Engine {target.engine} exists with another key: delete it if nobody needs it")
    if engine.metadata.deletion_timestamp:
        return waiting(Reason.DELETING, f"{target.where}: Engine {target.engine} is being deleted; it is made again then")
    if is_built(engine):
        return None
    fresh = engine.status.observed_generation == engine.metadata.generation
    conditions = {c.type: c for c in engine.status.conditions if c.status == "True"}
    if fresh and (failed := conditions.get("Stalled")):
        return stalled(
            known_reason(failed.reason, otherwise=Reason.BUILD_FAILED), f"{target.where}: Engine {target.engine}: {failed.message}"
        )
    doing = conditions.get("Reconciling")
    if not fresh or doing is None:
        return waiting(Reason.WAITING_FOR_ENGINE, f"{target.where}: Engine {target.engine}: not looked at yet")
    # A build that runs is our wait for an engine; one that can't start is passed on as what it waits for.
    reason = known_reason(doing.reason, otherwise=Reason.WAITING_FOR_ENGINE)
    reason = Reason.WAITING_FOR_ENGINE if reason is Reason.BUILDING else reason
    return waiting(reason, f"{target.where}: Engine {target.engine}: {doing.message}")


def foreign_child(
    target: Target, manifest: Manifest, *, observed: ObservedService, settings: OperatorSettings, now: datetime
) -> Verdict | None:
    """Somebody else's object where one of the placement's children has to stand."""
    name, owner = manifest["metadata"]["name"], target.service.metadata
    service = service_name(target.service.metadata, target.variant)
    candidates = (
        (f"{DEPLOYMENT.name} {target.workload}", observed.deployments.get(target.workload)),
        (f"{CONFIG_MAP.name} {name}", observed.config_maps.get(name)),
        (f"{SERVICE.name} {service}", observed.services.get(service)),
    )
    found = (foreign(child, what=what, kind=VERTICAL_SERVICE.name, owner=owner, settings=settings, now=now) for what, child in candidates)
    return next((verdict for verdict in found if verdict), None)


def workload_verdict(
    wanted: Manifest, live: DeploymentState | None, *, pods: Sequence[PodState], settings: OperatorSettings, now: datetime
) -> Verdict:
    """How the rollout of the wanted Deployment goes. `pods` are those of the placement, of any revision."""
    name = f"{DEPLOYMENT.name} {wanted['metadata']['name']}"
    if live is None or live.deleting:
        return waiting(Reason.ROLLING_OUT, f"{name} is being made")
    if live.intent != intent(wanted):
        return waiting(Reason.ROLLING_OUT, f"{name} is being changed")
    if live.rolled_out:
        return well(Reason.AVAILABLE)
    fresh = [pod for pod in pods if pod.revision == revision(wanted) and not pod.ready and not pod.deleting]
    problem = complaint(fresh, settings, now=now)
    if problem and (problem.state == "stalled" or problem.wake_after is not None):
        return problem  # settled, or with a deadline of its own
    if live.failure:
        return stalled(Reason.CHILD_REFUSED, f"no pod of {name} can be made: {live.failure}")
    doing = problem or waiting(
        Reason.ROLLING_OUT,
        f"{name}: {min(live.ready, live.replicas)} of {live.replicas} replicas ready, {live.updated} of the wanted revision",
    )
    if live.deadline_exceeded:
        return stalled(Reason.ROLLOUT_DEADLINE_EXCEEDED, f"no progress for {settings.rollout_deadline} s: {doing.message}")
    oldest = min((pod.since for pod in fresh if pod.since), default=None)
    if oldest is None:
        return doing
    deadline = after(oldest, settings.rollout_deadline, now=now)
    return until(deadline, now=now, wait=doing, reason=Reason.ROLLOUT_DEADLINE_EXCEEDED)


def progress(
    service: VerticalService,
    variant: Variant,
    *,
    placement: Placement,
    observed: ObservedService,
    settings: OperatorSettings,
    now: datetime,
) -> Progress:
    """Everything about one placement; the first thing that is not well is the verdict."""
    found = observed.deployments.get(child_name(service.metadata.name, variant.name, placement.name))
    live = found if found and found.controller == service.metadata.uid else None
    target = resolve(service, variant, placement=placement, settings=settings)
    if isinstance(target, Finding):
        verdict = stalled(target.reason, target.message)
        return Progress(variant=variant, placement=placement, target=None, engine=None, live=live, verdict=verdict)
    engine = observed.engines.get(target.engine)
    built = engine is not None and engine.spec.key == target.key and is_built(engine)
    start = waiting(Reason.PENDING, target.where)
    known = Progress(variant=variant, placement=placement, target=target, engine=engine, live=live, verdict=start, built=built)
    lost = lost_store(target, engine, claim=observed.claims.get(target.store.claim_name or ""), settings=settings, now=now)
    if lost:
        known = replace(known, verdict=lost)
        if engine is None or _going(engine):
            return known
        # Only an owner deletes it: one who comes to an Engine of others becomes an owner first.
        ours = owns(service, engine)
        return replace(known, engine_lost=ours, engine_wanted=not ours and engine.spec.key == target.key)
    refused = objection(target, observed.gpu_products)
    if refused:
        verdict = stalled(refused.reason, refused.message, wake_after=settings.patience)
        return replace(known, verdict=verdict, engine_wanted=engine is not None and not _going(engine))
    missing = engine_verdict(target, engine)
    known = replace(known, engine_wanted=not _going(engine) and (engine is None or engine.spec.key == target.key))
    plan_file = config_map(target)
    blocked = foreign_child(target, plan_file, observed=observed, settings=settings, now=now) or missing
    if blocked:
        return replace(known, verdict=blocked)
    summary = engine.status.manifest if engine else None
    artifact = summary.artifact if summary else None
    workload = deployment(target, config_map=plan_file["metadata"]["name"], settings=settings, artifact=artifact)
    pods = [pod for pod in observed.pods if pod.variant == variant.name and pod.placement == placement.name]
    verdict = workload_verdict(workload, live, pods=pods, settings=settings, now=now)
    return replace(known, verdict=verdict, children=(plan_file, workload))


def _going(engine: Engine | None) -> bool:
    return engine is not None and engine.metadata.deletion_timestamp is not None


def serving_key(item: Progress) -> str:
    """Short key of the engine that the live Deployment has; empty when there is none."""
    return short_key(item.live.engine_key) if item.live else ""
