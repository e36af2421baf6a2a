"""Conditions: the types of both kinds, and the pure step from old conditions to new ones."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from vertical_engines.contract.frozen import Frozen
from vertical_engines.contract.reasons import Reason

ConditionStatus = Literal["True", "False", "Unknown"]

SERVICE_CONDITIONS = ("Ready", "Reconciling", "Stalled", "EnginesReady", "Available")
ENGINE_CONDITIONS = ("Ready", "Built", "Verified", "Reconciling", "Stalled")

MESSAGE_LIMIT = 2048


class Condition(Frozen):
    """One observation. `lastTransitionTime` changes with `status` only."""

    model_config = ConfigDict(extra="ignore")

    type: Annotated[str, Field(max_length=64)]
    status: ConditionStatus
    reason: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")]
    message: Annotated[str, Field(max_length=MESSAGE_LIMIT)] = ""
    observed_generation: Annotated[int, Field(ge=-1)] = -1
    last_transition_time: Annotated[str, Field(max_length=40, json_schema_extra={"format": "date-time"})]


class Observation(Frozen):
    """What is to be said about one condition, before times are filled in."""

    type: str
    status: ConditionStatus
    reason: Reason
    message: str = ""


def timestamp(now: datetime) -> str:
    """RFC 3339 in whole seconds, as the API server writes times."""
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def conditions(
    observations: Sequence[Observation], *, previous: Sequence[Condition], generation: int, now: datetime
) -> tuple[Condition, ...]:
    """Conditions in the order of the observations; a condition whose status did not change keeps its transition time."""
    before = {condition.type: condition for condition in previous}
    made = []
    for seen in observations:
        old = before.get(seen.type)
        since = old.last_transition_time if old and old.status == seen.status else timestamp(now)
        made.append(
            Condition(
                type=seen.type,
                status=seen.status,
                reason=seen.reason.value,
                message=clipped(seen.message),
                observed_generation=generation,
                last_transition_time=since,
            )
        )
    return tuple(made)


def known_reason(text: str, *, otherwise: Reason) -> Reason:
    """A reason read back from the API server; one of another version becomes `otherwise`."""
    try:
        return Reason(text)
    except ValueError:
        return otherwise


def clipped(message: str, limit: int = MESSAGE_LIMIT) -> str:
    """A message within the schema's limit; the end goes, since what to do comes first."""
    return message if len(message) <= limit else message[: limit - 1] + "…"
