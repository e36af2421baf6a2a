"""How a build is doing: from its Job, the Job's pods and the claims it needs to one verdict and the next step."""

from dataclasses import dataclass
from datetime import datetime

from vertical_engines.contract.build import BuildFailure
from vertical_engines.contract.known_failures import explain
from vertical_engines.contract.manifest import ManifestSummary, StoreUsage
from vertical_engines.contract.masking import masked
from vertical_engines.contract.reasons import Reason
from vertical_operator.api.v1alpha1.conditions import timestamp
from vertical_operator.api.v1alpha1.engine import Engine
from vertical_operator.api.v1alpha1.group import CLAIM, ENGINE, JOB
from vertical_operator.core.complaints import complaint, last_failure
from vertical_operator.core.names import build_job_name
from vertical_operator.core.observed import JobState, ObservedEngine
from vertical_operator.core.pods import PodState
from vertical_operator.core.render.build_job import build_intent
from vertical_operator.core.settings import OperatorSettings
from vertical_operator.core.verdict import Verdict, after, foreign, stalled, until, waiting, well

RETRYABLE = (Reason.STORE_FULL, Reason.STORE_UNAVAILABLE, Reason.MODEL_SOURCE_UNAVAILABLE, Reason.BUILD_DEADLINE_EXCEEDED)
"""Failures that another attempt may not meet; every other stays, with its Job as the record."""

PROGRESS_SECONDS = 10.0
"""How often the status may show new progress."""

OFFLINE = (
    "this installation is offline: a model of a hub has to come from its cache on a PersistentVolumeClaim; "
    "set spec.model.source.huggingFace.cache, or use an image or a claim as the source"
)


@dataclass(frozen=True)
class Build:
    """`make`: apply the Job; `drop`: delete this Job, so that it is made anew."""

    verdict: Verdict
    manifest: ManifestSummary | None = None
    failure: BuildFailure | None = None
    make: bool = False
    drop: JobState | None = None
    store: StoreUsage | None = None
    progress: str = ""
    """Of the fetch, for the status message alone: conditions stay as they are while bytes flow."""


def build(engine: Engine, observed: ObservedEngine, *, settings: OperatorSettings, now: datetime) -> Build:
    """The verdict on an engine's build. An engine whose manifest is known needs no Job any more."""
    if engine.status.manifest is not None:
        return Build(well(Reason.BUILT), manifest=engine.status.manifest, store=engine.status.store)
    name = build_job_name(engine.metadata.name)
    job = observed.jobs.get(name)
    blocked = foreign(job, what=f"{JOB.name} {name}", kind=ENGINE.name, owner=engine.metadata, settings=settings, now=now)
    if blocked:
        return Build(blocked)
    if job is None:
        return _start(engine, name, observed=observed, settings=settings, now=now)
    if job.deleting:
        return Build(waiting(Reason.BUILDING, f"{JOB.name} {name} is being deleted; it is made again then", wake_after=5))
    pods = [pod for pod in observed.pods if pod.job == job.uid]
    if job.complete:
        return _finished(engine, job, pods=pods)
    if job.intent != build_intent(engine, settings):
        text = f"{JOB.name} {name} is made anew: scheduling of the Engine, or the road to its model, has changed"
        return Build(waiting(Reason.BUILDING, text), drop=job)
    return (
        _failed(job, pods, settings=settings, now=now) if job.failed else _running(job, pods, observed=observed, settings=settings, now=now)
    )


def _start(engine: Engine, name: str, *, observed: ObservedEngine, settings: OperatorSettings, now: datetime) -> Build:
    source, cache = engine.spec.identity.source.persistent_volume_claim, engine.spec.access.cache
    if settings.offline and engine.spec.identity.source.hugging_face and not cache:
        return Build(stalled(Reason.MODEL_SOURCE_UNAVAILABLE, OFFLINE))
    needed = [(engine.spec.store.claim_name, "the engine store")] if engine.spec.store.claim_name else []
    needed += [(source.claim_name, "the model source")] if source else []
    needed += [(cache.claim_name, "the hub's cache")] if cache else []
    for claim, use in needed:
        live = observed.claims.get(claim)
        if live is None or live.deleting:
            state = "is being deleted" if live else "does not exist"
            wait = waiting(Reason.WAITING_FOR_STORE, f"{CLAIM.name} {claim} of {use} {state}: create it", wake_after=settings.patience)
            deadline = after(engine.metadata.creation_timestamp, settings.store_deadline, now=now)
            return Build(until(deadline, now=now, wait=wait, reason=Reason.STORE_UNAVAILABLE))
    return Build(waiting(Reason.BUILDING, f"{JOB.name} {name} is being made"), make=True)


def _finished(engine: Engine, job: JobState, *, pods: list[PodState]) -> Build:
    outcomes = [container.outcome for pod in pods for container in pod.containers]
    found = next(((each.manifest, each.store) for each in reversed(outcomes) if each and each.manifest), None)
    if found and found[0].key == engine.spec.key:
        return Build(well(Reason.BUILT), manifest=found[0], store=found[1])
    if found:
        text = f"{JOB.name} {job.name} built key {found[0].key} instead of {engine.spec.key}: operator and image differ in version"
        return Build(stalled(Reason.BUILD_FAILED, text))
    # The pod that held the summary is gone. The engine stands in the store: another Job finds it there and says so.
    return Build(waiting(Reason.BUILDING, f"{JOB.name} {job.name} is complete but its summary is lost; it is asked again"), drop=job)


def _failed(job: JobState, pods: list[PodState], *, settings: OperatorSettings, now: datetime) -> Build:
    failure = translated(job, pods)
    if failure.reason not in RETRYABLE:
        again = f"; to try again, correct it or delete {JOB.name} {job.name}"
        return Build(stalled(failure.reason, failure.message + again), failure=failure)
    retry = after(job.finished, settings.retry_after, now=now)
    if now >= retry:
        return Build(waiting(Reason.BUILDING, f"trying again after {failure.reason.value}: {failure.message}"), drop=job)
    left = (retry - now).total_seconds() + 1
    return Build(stalled(failure.reason, f"{failure.message}; tried again at {timestamp(retry)}", wake_after=left), failure=failure)


def translated(job: JobState, pods: list[PodState]) -> BuildFailure:
    """Why a Job failed: the builder's own words, else the kubelet's, else the Job controller's."""
    if job.failed_reason == "DeadlineExceeded":
        return BuildFailure(reason=Reason.BUILD_DEADLINE_EXCEEDED, message=f"{JOB.name} {job.name} ran out of time: {job.failed_message}")
    found = last_failure(pods)
    if found:
        return found
    ended = [(pod, container) for pod in pods for container in pod.containers if container.exit_code]
    if any(container.exit_reason == "OOMKilled" for _, container in ended):
        return BuildFailure(reason=Reason.BUILD_OUT_OF_MEMORY, message="the build was killed for want of memory: raise limits.memory")
    words = f"{JOB.name} {job.name}: {job.failed_message or job.failed_reason or 'failed'}"
    if ended:
        pod, container = ended[-1]
        if known := explain(container.exit_message.splitlines(), ended=True):
            return BuildFailure(reason=known[0], message=f"container {container.name}: {known[1]}")
        last = masked(container.exit_message.strip()) or container.exit_reason
        words += f"; container {container.name} of pod {pod.name} ended with {container.exit_code}: {last}"
    return BuildFailure(reason=Reason.BUILD_FAILED, message=words)


def _attempt_over(pod: PodState) -> bool:
    """Its containers are never restarted: one that failed ends the attempt before the pod's phase says so. The Job decides the rest."""
    return pod.over or any(container.exit_code for container in pod.containers)


def _running(job: JobState, pods: list[PodState], *, observed: ObservedEngine, settings: OperatorSettings, now: datetime) -> Build:
    if job.suspended:
        # No deadline: how long a queue is is not ours to judge, and the Job's own clock does not run meanwhile.
        queue = f"Kueue has not admitted it from queue {job.queue} yet" if job.queue else "somebody has set its suspend"
        return Build(waiting(Reason.BUILDING, f"{JOB.name} {job.name} is suspended: {queue}"))
    live = [pod for pod in pods if not _attempt_over(pod) and not pod.deleting]
    problem = complaint(live, settings, now=now)
    deadline = after(job.started, settings.build_deadline, now=now)
    text = problem.message if problem else f"{JOB.name} {job.name} is building"
    before = last_failure([pod for pod in pods if _attempt_over(pod)])
    if before:
        text += f"; an attempt before failed: {before.reason.value}: {before.message}"
    if problem and problem.state == "stalled":
        return Build(stalled(problem.reason, text))
    if problem and problem.wake_after is not None:
        return Build(waiting(problem.reason, text, wake_after=problem.wake_after), failure=before)
    limit = f" (until {timestamp(deadline)} at most)" if job.started else ""
    look_again = PROGRESS_SECONDS + 0.5 if observed.fetching_at else None
    reason = problem.reason if problem else Reason.BUILDING
    return Build(waiting(reason, text + limit, wake_after=look_again), failure=before, progress=observed.progress)
