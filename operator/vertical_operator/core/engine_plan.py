"""From an Engine and what was observed to a plan: build it, or remove its files when it is being deleted."""

from datetime import datetime

from vertical_engines.contract.reasons import Reason
from vertical_operator.api.v1alpha1.engine import Engine
from vertical_operator.api.v1alpha1.group import API_VERSION, ENGINE, JOB, STORE_FINALIZER
from vertical_operator.core.builds import Build, build
from vertical_operator.core.engine_status import engine_status
from vertical_operator.core.intents import Apply, Delete, Plan, Ref
from vertical_operator.core.names import build_job_name, remove_job_name
from vertical_operator.core.observed import JobState, ObservedEngine
from vertical_operator.core.render.build_job import build_job
from vertical_operator.core.render.remove_job import remove_job
from vertical_operator.core.settings import OperatorSettings
from vertical_operator.core.verdict import after, stalled, waiting

REMOVE_SECONDS = 30
"""Enough for the remover, and for pods that will go to be on their way. Servers that drain have the rest of the deadline: files that
vanish under a server are an error on a shared file system."""


def plan_engine(engine: Engine, observed: ObservedEngine, *, settings: OperatorSettings, now: datetime) -> Plan:
    """What to apply, delete and report. The finalizer comes before the first Job: nothing is written that nobody would remove."""
    if engine.metadata.deletion_timestamp:
        return _removal(engine, observed, settings=settings, now=now)
    found = _consistent(engine) or build(engine, observed, settings=settings, now=now)
    guarded = STORE_FINALIZER in engine.metadata.finalizers
    return Plan(
        applies=(
            *([] if guarded else [_finalizer(engine, present=True)]),
            *([Apply(build_job(engine, settings))] if found.make else []),
        ),
        deletes=(_job(engine, found.drop),) if found.drop else (),
        status=engine_status(engine, found, now=now),
        wake_after=found.verdict.wake_after,
    )


def _consistent(engine: Engine) -> Build | None:
    """An Engine made under other rules for keys can still be served, but not built."""
    if engine.status.manifest is not None or engine.spec.identity.key() == engine.spec.key:
        return None
    return Build(stalled(Reason.INVALID_SPEC, "spec.key is not the key of spec.identity: delete this Engine, its service makes another"))


def _finalizer(engine: Engine, *, present: bool) -> Apply:
    """Our finalizer under a field manager that owns nothing else; the UID keeps an Engine that is gone from coming back."""
    metadata = {"name": engine.metadata.name, "namespace": engine.metadata.namespace, "uid": engine.metadata.uid}
    finalizers = {"finalizers": [STORE_FINALIZER]} if present else {}
    return Apply({"apiVersion": API_VERSION, "kind": ENGINE.name, "metadata": {**metadata, **finalizers}})


def _job(engine: Engine, job: JobState) -> Delete:
    return Delete(Ref(JOB, engine.metadata.namespace, job.name), job.uid)


def _removal(engine: Engine, observed: ObservedEngine, *, settings: OperatorSettings, now: datetime) -> Plan:
    """The build stops first, then the files go, then the finalizer; all of it within the deadline."""
    if STORE_FINALIZER not in engine.metadata.finalizers:
        return Plan()
    deadline = after(engine.metadata.deletion_timestamp, settings.remove_deadline, now=now)
    if now >= deadline or _nothing_to_remove(engine, observed):
        return Plan(applies=(_finalizer(engine, present=False),))
    left = (deadline - now).total_seconds() + 1
    name = f"{JOB.name} {remove_job_name(engine.metadata.name)}"
    verdict = waiting(Reason.DELETING, f"{name} removes the engine's files from the store", wake_after=left)
    status = engine_status(engine, Build(verdict, manifest=engine.status.manifest, store=engine.status.store), now=now)
    job = observed.jobs.get(build_job_name(engine.metadata.name))
    busy = job is not None and job.controller == engine.metadata.uid and not (job.complete or job.failed)
    if job is not None and busy:
        deletes = () if job.deleting else (_job(engine, job),)
        return Plan(deletes=deletes, status=status, wake_after=min(left, 5))
    if any(not pod.over for pod in observed.pods if _writes(pod.job, observed)):
        return Plan(status=status, wake_after=min(left, 5))
    if observed.readers and left > REMOVE_SECONDS:
        # An engine that was deleted by hand, while it is served: it is made again, and its files are found again then.
        served = any(not pod.deleting for pod in observed.readers)
        if served and now >= after(engine.metadata.deletion_timestamp, REMOVE_SECONDS, now=now):
            return Plan(applies=(_finalizer(engine, present=False),))
        return Plan(status=status, wake_after=min(left, 5))
    return Plan(applies=(Apply(remove_job(engine, settings)),), status=status, wake_after=left)


def _writes(job: str, observed: ObservedEngine) -> bool:
    """Any Job's pod but the remover's: one of a Job that is gone may still write into the store."""
    return all(job != live.uid for name, live in observed.jobs.items() if name.endswith("-remove"))


def _nothing_to_remove(engine: Engine, observed: ObservedEngine) -> bool:
    """The files are gone, go with their volume, or were never written."""
    if observed.namespace_terminating or _has_no_store(engine, observed):
        return True
    job = observed.jobs.get(remove_job_name(engine.metadata.name))
    return job is not None and (job.complete or job.failed or job.controller != engine.metadata.uid)


def _has_no_store(engine: Engine, observed: ObservedEngine) -> bool:
    """A claim that is gone, going or was never bound; a registry that is to keep what it holds."""
    name = engine.spec.store.claim_name
    if name is None:
        return engine.spec.store_access.on_delete == "Keep"
    claim = observed.claims.get(name)
    return claim is None or claim.deleting or claim.phase == "Pending"
