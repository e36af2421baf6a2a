"""Status of an Engine from the verdict on its build."""

from datetime import datetime

from vertical_engines.contract.manifest import ManifestSummary, limits_text
from vertical_engines.contract.reasons import Reason
from vertical_operator.api.v1alpha1.conditions import Observation, clipped, conditions
from vertical_operator.api.v1alpha1.engine import Engine, EngineStatus, FailureStatus
from vertical_operator.core.builds import Build
from vertical_operator.core.intents import Manifest
from vertical_operator.core.status import as_json

LOG_LINES = 20
LOG_WIDTH = 500


def engine_status(engine: Engine, build: Build, *, now: datetime) -> Manifest:
    """The whole status as JSON, equal for equal input but for `now` in the transition times."""
    generation, identity, manifest = engine.metadata.generation, engine.spec.identity, build.manifest
    accelerator, verdict = identity.accelerator, build.verdict
    failure = build.failure
    status = EngineStatus(
        observed_generation=generation,
        conditions=conditions(observations(build), previous=engine.status.conditions, generation=generation, now=now),
        state=Reason.READY.value if verdict.well else verdict.reason.value,
        message=clipped(f"{build.progress}; {verdict.message}" if build.progress else verdict.message),
        flags=limits_text(identity.build)[:64],
        gpu=f"{accelerator.product[:56]} x{accelerator.count}" if accelerator else "CPU",
        toolchain=f"{identity.toolchain.backend} {identity.toolchain.release}"[:64],
        build_time=f"{manifest.build_seconds:.0f}s" if manifest else "",
        size=size_text(manifest.size_bytes) if manifest else "",
        manifest=manifest,
        store=build.store,
        failure=FailureStatus(
            reason=failure.reason.value,
            message=clipped(failure.message),
            log=tuple(line[:LOG_WIDTH] for line in failure.log[-LOG_LINES:]),
        )
        if failure
        else None,
    )
    return as_json(status)


def size_text(size: int) -> str:
    """Bytes for people."""
    mebibytes = size / 2**20
    return f"{mebibytes / 1024:.1f}Gi" if mebibytes >= 1024 else f"{mebibytes:.0f}Mi" if mebibytes >= 1 else f"{size / 1024:.0f}Ki"


def observations(build: Build) -> list[Observation]:
    """All five conditions."""
    verdict = build.verdict
    built = build.manifest is not None
    ready = built and verdict.well
    return [
        _observation("Ready", ready, reason=Reason.READY if ready else verdict.reason, message=verdict.message),
        _observation("Built", built, reason=Reason.BUILT if built else verdict.reason, message=verdict.message),
        _verified(build.manifest, build),
        _observation("Reconciling", verdict.state == "waiting", reason=_if(verdict.state == "waiting", build), message=verdict.message),
        _observation("Stalled", verdict.state == "stalled", reason=_if(verdict.state == "stalled", build), message=verdict.message),
    ]


def _observation(kind: str, holds: bool, *, reason: Reason, message: str) -> Observation:
    """Trouble's message stands where there is trouble: at what is not so well, not beside it."""
    abnormal = kind in ("Reconciling", "Stalled")
    return Observation(type=kind, status="True" if holds else "False", reason=reason, message=message if holds == abnormal else "")


def _if(holds: bool, build: Build) -> Reason:
    return build.verdict.reason if holds else Reason.CURRENT


def _verified(manifest: ManifestSummary | None, build: Build) -> Observation:
    if manifest and manifest.verified:
        return Observation(type="Verified", status="True", reason=Reason.VERIFIED, message="loaded and tried before it was published")
    if build.verdict.reason is Reason.VERIFICATION_FAILED:
        return Observation(type="Verified", status="False", reason=Reason.VERIFICATION_FAILED, message=build.verdict.message)
    words = "the builder loaded nothing, it had no such device" if manifest else "not built yet"
    return Observation(type="Verified", status="Unknown", reason=Reason.PENDING, message=words)
