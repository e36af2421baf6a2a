"""Status of a VerticalService from its placements, and the two statuses that stand for an error. Pure; times come in as `now`."""

from collections.abc import Sequence
from datetime import datetime

from vertical_engines.contract.reasons import Reason
from vertical_operator.api.v1alpha1.conditions import (
    ENGINE_CONDITIONS,
    SERVICE_CONDITIONS,
    Condition,
    Observation,
    clipped,
    conditions,
    known_reason,
)
from vertical_operator.api.v1alpha1.engine import EngineStatus
from vertical_operator.api.v1alpha1.group import ENGINE
from vertical_operator.api.v1alpha1.parse import InvalidObject, parse
from vertical_operator.api.v1alpha1.service_status import PlacementStatus, VariantStatus, VerticalServiceStatus
from vertical_operator.api.v1alpha1.vertical_service import VerticalService
from vertical_operator.core.intents import Manifest
from vertical_operator.core.render.service import address
from vertical_operator.core.rollout import Progress, serving_key
from vertical_operator.core.verdict import Verdict

ALL_WELL = "every placement serves the wanted revision"


def service_status(service: VerticalService, items: Sequence[Progress], *, now: datetime) -> Manifest:
    """The whole status as JSON, equal for equal input but for `now` in the transition times."""
    generation = service.metadata.generation
    seen = observations(items)
    reason, message = headline(seen)
    status = VerticalServiceStatus(
        observed_generation=generation,
        conditions=conditions(seen, previous=service.status.conditions, generation=generation, now=now),
        reason=reason.value,
        message=clipped(message),
        variants_ready=_variants_ready(items),
        engines_ready=_engines_ready(items),
        variants=_variants(service, items),
    )
    return as_json(status)


def as_json(status: VerticalServiceStatus | EngineStatus) -> Manifest:
    content: Manifest = status.model_dump(mode="json", by_alias=True, exclude_none=True)
    return content


def observations(items: Sequence[Progress]) -> list[Observation]:
    """All five conditions. Stalled wins over Reconciling: what is stalled needs somebody, whatever else goes on."""
    failed = [item.verdict for item in items if item.verdict.state == "stalled"]
    pending = [item.verdict for item in items if item.verdict.state == "waiting"]
    silent = [item.verdict for item in items if not item.serves]
    unbuilt = [item.verdict for item in items if not item.built]
    short = [item.verdict for item in items if not _available(item)]
    return [
        _when(not silent, "Ready", reason=Reason.READY, message="every placement serves", otherwise=silent),
        _trouble("Reconciling", [] if failed else pending),
        _trouble("Stalled", failed),
        _when(not unbuilt, "EnginesReady", reason=Reason.BUILT, message="every wanted engine is built", otherwise=unbuilt),
        _when(not short, "Available", reason=Reason.AVAILABLE, message="every placement has its replicas ready", otherwise=short),
    ]


def _available(item: Progress) -> bool:
    return item.placement.replicas == 0 or (item.live is not None and item.live.ready >= item.placement.replicas)


def _when(holds: bool, kind: str, *, reason: Reason, message: str, otherwise: Sequence[Verdict]) -> Observation:
    if holds:
        return Observation(type=kind, status="True", reason=reason, message=message)
    cause = next((verdict for verdict in otherwise if not verdict.well), None)
    if cause is None:
        return Observation(type=kind, status="False", reason=Reason.ROLLING_OUT, message="pods are not ready yet")
    return Observation(type=kind, status="False", reason=cause.reason, message=joined(otherwise))


def _trouble(kind: str, verdicts: Sequence[Verdict]) -> Observation:
    if not verdicts:
        return Observation(type=kind, status="False", reason=Reason.CURRENT, message="")
    return Observation(type=kind, status="True", reason=verdicts[0].reason, message=joined(verdicts))


def joined(verdicts: Sequence[Verdict]) -> str:
    """Distinct messages, in the order of the placements."""
    return "; ".join(dict.fromkeys(verdict.message for verdict in verdicts if verdict.message))


def headline(seen: Sequence[Observation]) -> tuple[Reason, str]:
    """Reason and message that `kubectl get` shows: what is stalled, else what is waited for, else that all is well."""
    by_type = {observation.type: observation for observation in seen}
    for kind in ("Stalled", "Reconciling"):
        if by_type[kind].status == "True":
            return by_type[kind].reason, by_type[kind].message
    ready = by_type["Ready"]
    return (Reason.READY, ALL_WELL) if ready.status == "True" else (ready.reason, ready.message)


def _of(part: int, whole: int) -> str:
    return f"{part}/{whole}"


def _variants_ready(items: Sequence[Progress]) -> str:
    names = list(dict.fromkeys(item.variant.name for item in items))
    serving = [name for name in names if all(item.serves for item in items if item.variant.name == name)]
    return _of(len(serving), len(names))


def _engines_ready(items: Sequence[Progress]) -> str:
    """Placements that share an engine count once; one without a resolved engine counts as an engine that is missing."""
    built = {item.target.engine if item.target else f"{item.variant.name}/{item.placement.name}": item.built for item in items}
    return _of(sum(built.values()), len(built))


def _variants(service: VerticalService, items: Sequence[Progress]) -> tuple[VariantStatus, ...]:
    return tuple(
        VariantStatus(
            name=variant.name,
            address=address(service.metadata, variant),
            placements=tuple(_placement(item) for item in items if item.variant.name == variant.name),
        )
        for variant in service.spec.variants
    )


def _placement(item: Progress) -> PlacementStatus:
    accelerator = item.placement.accelerator
    return PlacementStatus(
        name=item.placement.name,
        product=accelerator.product if accelerator else "",
        engine=item.target.engine if item.target else "",
        desired_engine=item.target.short if item.target else "",
        serving_engine=serving_key(item),
        replicas=item.placement.replicas,
        ready_replicas=item.live.ready if item.live else 0,
        reason=item.verdict.reason.value,
        message=clipped(item.verdict.message),
    )


def invalid(raw: Manifest, *, text: str, now: datetime) -> Manifest:
    """Status of an object whose spec can't be read: Stalled InvalidSpec until a new generation. Ready stays: nothing was changed."""
    engine = raw.get("kind") == ENGINE.name
    generation = raw["metadata"].get("generation", 1)
    old = raw.get("status") or {}
    previous = _previous(old, engine=engine)
    message = f"the spec can't be used: {text}"
    before = {condition.type: condition for condition in previous}
    seen = []
    for kind in ENGINE_CONDITIONS if engine else SERVICE_CONDITIONS:
        if kind in ("Stalled", "Reconciling"):
            failed = kind == "Stalled"
            reason = Reason.INVALID_SPEC if failed else Reason.CURRENT
            seen.append(Observation(type=kind, status="True" if failed else "False", reason=reason, message=message if failed else ""))
        elif kind in before:
            kept = before[kind]
            seen.append(
                Observation(type=kind, status=kept.status, reason=known_reason(kept.reason, otherwise=Reason.PENDING), message=kept.message)
            )
        else:
            seen.append(Observation(type=kind, status="Unknown", reason=Reason.INVALID_SPEC, message=message))
    made = conditions(seen, previous=previous, generation=generation, now=now)
    headline_field = "state" if engine else "reason"
    return {
        **old,
        "observedGeneration": generation,
        "conditions": [condition.model_dump(mode="json", by_alias=True, exclude_none=True) for condition in made],
        headline_field: Reason.INVALID_SPEC.value,
        "message": clipped(message),
    }


def _previous(status: Manifest, *, engine: bool) -> tuple[Condition, ...]:
    try:
        model: type[EngineStatus] | type[VerticalServiceStatus] = EngineStatus if engine else VerticalServiceStatus
        return parse(model, status).conditions
    except InvalidObject:
        return ()


def refused(status: Manifest, *, what: str, text: str, generation: int, now: datetime, live: Manifest | None = None) -> Manifest:
    """The planned status, corrected because the API server refused a child (`what`, such as "Deployment x") with `text`.

    `live` is the status as it was read: a refusal that was reported already keeps its transition times, so nothing is written again.
    """
    message = clipped(f"the API server refuses {what}: {text}")
    old = [Condition.model_validate(condition) for condition in status.get("conditions", [])]
    seen = []
    for condition in old:
        if condition.type == "Stalled":
            seen.append(Observation(type="Stalled", status="True", reason=Reason.CHILD_REFUSED, message=message))
        elif condition.type == "Reconciling":
            seen.append(Observation(type="Reconciling", status="False", reason=Reason.CURRENT))
        else:
            seen.append(
                Observation(
                    type=condition.type,
                    status=condition.status,
                    reason=known_reason(condition.reason, otherwise=Reason.PENDING),
                    message=condition.message,
                )
            )
    reported = [Condition.model_validate(condition) for condition in (live or {}).get("conditions", [])]
    made = conditions(seen, previous=reported or old, generation=generation, now=now)
    headline_field = "reason" if "variantsReady" in status else "state"
    return {
        **status,
        "conditions": [condition.model_dump(mode="json", by_alias=True, exclude_none=True) for condition in made],
        headline_field: Reason.CHILD_REFUSED.value,
        "message": message,
    }
