"""Engines that go with their store: its claim is being deleted, or another one stands in its place."""

from datetime import datetime

from vertical_engines.contract.reasons import Reason
from vertical_operator.api.v1alpha1.engine import Engine
from vertical_operator.api.v1alpha1.group import CLAIM
from vertical_operator.core.identity import Target
from vertical_operator.core.observed import ClaimState
from vertical_operator.core.pods import moment
from vertical_operator.core.settings import OperatorSettings
from vertical_operator.core.verdict import Verdict, after, until, waiting


def lost_store(
    target: Target, engine: Engine | None, *, claim: ClaimState | None, settings: OperatorSettings, now: datetime
) -> Verdict | None:
    """Why the Engine, if there is one, has to go and be made anew; None while its store is the one that it was built into.

    Pods of a build hold a claim for as long as they exist, also after their end: without them a deleted claim can go at last.
    """
    if claim is None:
        return None
    store = f"{CLAIM.name} {target.store.claim_name} of the engine store"
    if claim.deleting:
        text = f"{store} is being deleted: it goes with the last pod that uses it, and the engines are built anew in the next one"
        return until(
            after(claim.deleted_at, settings.store_deadline, now=now),
            now=now,
            wait=waiting(Reason.WAITING_FOR_STORE, text, wake_after=settings.patience),
            reason=Reason.STORE_UNAVAILABLE,
        )
    if engine is None or engine.metadata.deletion_timestamp:
        return None
    built = moment(next((c.last_transition_time for c in engine.status.conditions if (c.type, c.status) == ("Built", "True")), None))
    if built is None or claim.created is None or claim.created <= built:
        return None
    return waiting(Reason.WAITING_FOR_ENGINE, f"{store} is newer than Engine {target.engine}, which is made anew for it")
