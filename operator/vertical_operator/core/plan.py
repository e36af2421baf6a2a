"""From a VerticalService and what was observed to a plan; `plan_engine` does the same for an Engine."""

from dataclasses import replace
from datetime import datetime

from vertical_operator.api.v1alpha1.group import CLAIM, ENGINE, VERTICAL_SERVICE
from vertical_operator.api.v1alpha1.vertical_service import VerticalService
from vertical_operator.core.cleanup import Wanted, cleanup
from vertical_operator.core.engine_plan import plan_engine
from vertical_operator.core.identity import store_claim
from vertical_operator.core.intents import Apply, Delete, Plan, Ref
from vertical_operator.core.names import child_name
from vertical_operator.core.observed import ObservedService
from vertical_operator.core.render.claim import claim
from vertical_operator.core.render.engine import engine
from vertical_operator.core.render.service import service_name, variant_service
from vertical_operator.core.rollout import Progress, progress
from vertical_operator.core.settings import OperatorSettings
from vertical_operator.core.status import service_status
from vertical_operator.core.verdict import Verdict, foreign, soonest

__all__ = ["plan", "plan_engine"]


def plan(service: VerticalService, observed: ObservedService, *, settings: OperatorSettings, now: datetime) -> Plan:
    """What to apply, delete and report. A service that is being deleted needs nothing: its children go by their owner references."""
    if service.metadata.deletion_timestamp:
        return Plan()
    items = [
        progress(service, variant, placement=placement, observed=observed, settings=settings, now=now)
        for variant in service.spec.variants
        for placement in variant.placements
    ]
    blocked = _store(service, observed, settings=settings, now=now)
    items = [_held(item, blocked) for item in items] if blocked else items
    moving = _moving(service, items, observed=observed)
    items = [replace(item, covered=item.variant.name in moving) for item in items]
    kept = frozenset(name for names in moving.values() for name in names)
    leftovers = cleanup(service, observed, wanted=_wanted(service, items, kept=kept))
    applies = (*_store_claim(service, blocked), *_engines(items), *_services(service, observed), *_workloads(items), *leftovers.applies)
    return Plan(
        applies=applies,
        deletes=(*leftovers.deletes, *_lost(items)),
        status=service_status(service, items, now=now),
        wake_after=soonest(*(item.verdict.wake_after for item in items), settings.patience if leftovers.kept else None),
    )


def _store(service: VerticalService, observed: ObservedService, *, settings: OperatorSettings, now: datetime) -> Verdict | None:
    """A claim of somebody else where the service's own has to stand."""
    if service.spec.engine_store.volume_claim_template is None:
        return None
    name = store_claim(service) or ""
    what, live = f"{CLAIM.name} {name}", observed.claims.get(name)
    return foreign(live, what=what, kind=VERTICAL_SERVICE.name, owner=service.metadata, settings=settings, now=now)


def _held(item: Progress, verdict: Verdict) -> Progress:
    """Without a store of its own nothing new is made for a placement; what serves is left alone."""
    if item.target is None:
        return item
    return replace(item, verdict=verdict, engine_wanted=item.engine is not None and item.engine_wanted, children=())


def _store_claim(service: VerticalService, blocked: Verdict | None) -> list[Apply]:
    manifest = None if blocked else claim(service)
    return [Apply(manifest)] if manifest else []


def _engines(items: list[Progress]) -> list[Apply]:
    """Once per engine: the first placement that wants it decides where it is built."""
    first = {item.target.engine: item for item in reversed(items) if item.target and item.engine_wanted}
    return [engine(item.target, item.engine) for _, item in sorted(first.items()) if item.target]


def _lost(items: list[Progress]) -> list[Delete]:
    """Once per engine, whoever else owns it: it is lost for them as well."""
    found = {item.engine.metadata.name: item.engine.metadata for item in items if item.engine and item.engine_lost}
    return [Delete(Ref(ENGINE, it.namespace, name), it.uid, it.resource_version) for name, it in sorted(found.items())]


def _services(service: VerticalService, observed: ObservedService) -> list[Apply]:
    """Addresses stand from the beginning. A foreign Service is left alone; the placements report it."""
    made = []
    for variant in service.spec.variants:
        live = observed.services.get(service_name(service.metadata, variant))
        if live is None or (live.controller == service.metadata.uid and not live.deleting):
            made.append(Apply(variant_service(service, variant)))
    return made


def _workloads(items: list[Progress]) -> list[Apply]:
    return [Apply(manifest) for item in items for manifest in item.children]


def _moving(service: VerticalService, items: list[Progress], *, observed: ObservedService) -> dict[str, list[str]]:
    """By variant: Deployments of placements that were taken out, but answer while a placement that is wanted does not yet."""
    own = {child_name(service.metadata.name, item.variant.name, item.placement.name) for item in items}
    silent = {item.variant.name for item in items if not item.answers}
    found: dict[str, list[str]] = {}
    for name, live in observed.deployments.items():
        ours = live.controller == service.metadata.uid and name not in own and not live.deleting
        if ours and live.variant in silent and live.ready > 0:
            found.setdefault(live.variant, []).append(name)
    return found


def _wanted(service: VerticalService, items: list[Progress], *, kept: frozenset[str]) -> Wanted:
    """Names that stay. The engine of a placement that is held up stays too: a node that is gone for an hour costs no build."""
    name = service.metadata.name
    return Wanted(
        deployments=kept | {child_name(name, item.variant.name, item.placement.name) for item in items},
        services=frozenset(service_name(service.metadata, variant) for variant in service.spec.variants),
        config_maps=frozenset(item.children[0]["metadata"]["name"] for item in items if item.children),
        engines=frozenset(item.target.engine for item in items if item.target),
    )
