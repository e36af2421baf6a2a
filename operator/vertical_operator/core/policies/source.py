"""Policies on model sources: those that this version can fetch."""

from collections.abc import Iterator

from vertical_engines.contract.reasons import Reason
from vertical_operator.core.finding import Finding
from vertical_operator.core.identity import Target
from vertical_operator.core.policies.policy import finding


def source_cannot_be_fetched(target: Target) -> Iterator[Finding]:
    source = target.service.spec.model.source
    given = "huggingFace" if source.hugging_face else "objectStore" if source.object_store else ""
    if given:
        yield finding(
            target,
            f"spec.model.source.{given}",
            policy=source_cannot_be_fetched,
            reason=Reason.UNSUPPORTED_MODEL_SOURCE,
            what=f"{given} is not supported by this version",
            why="it fetches models from images and volumes",
            instead="put the model into an image or a PersistentVolumeClaim",
        )
