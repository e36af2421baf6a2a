"""The operator's serving plan as it is mounted. The guard reads it too, so nothing heavy is imported here."""

from pathlib import Path

from pydantic import ValidationError

from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.serving import ServingPlan
from vertical_engines.failure import Failure


def read_plan(path: Path) -> ServingPlan:
    """The operator's plan; Failure EngineRuntimeMismatch when this image and the operator are of different releases."""
    try:
        return ServingPlan.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Failure(Reason.ENGINE_RUNTIME_MISMATCH, f"the mounted configuration has no {path.name}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or path.name
        raise Failure(
            Reason.ENGINE_RUNTIME_MISMATCH, f"this image can't read the operator's plan: {where}: {first['msg']}; are both of one release?"
        ) from None
