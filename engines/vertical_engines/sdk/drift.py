"""Differences between a model's config.pbtxt and its schemas: found when the model loads, not when a request fails."""

from collections.abc import Mapping
from typing import Any

from vertical_engines.sdk.cache import SALT_NAME
from vertical_engines.sdk.errors import FAILURE_NAME
from vertical_engines.sdk.plan import FieldPlan, SchemaPlan


def is_decoupled(model_config: Mapping[str, Any]) -> bool:
    """Whether a model sends any number of answers to a request."""
    return bool(model_config.get("model_transaction_policy", {}).get("decoupled"))


def config_drift(model_config: Mapping[str, Any], *, request: SchemaPlan, response: SchemaPlan) -> list[str]:
    """One sentence per difference; empty when configuration and code agree. `model_config` is Triton's own JSON form."""
    problems = []
    for kind, plan in (("input", request), ("output", response)):
        configured = {tensor["name"]: tensor for tensor in model_config.get(kind, [])}
        for field in plan.fields:
            tensor = configured.pop(field.tensor, None)
            problems += _compare(kind, field, tensor) if tensor else [f"{kind} {field.tensor} is missing from config.pbtxt"]
        known = {"input": SALT_NAME, "output": FAILURE_NAME}[kind]
        problems += [f"{kind} {name} is in config.pbtxt but not in {plan.schema.__name__}" for name in configured if name != known]
    if is_decoupled(model_config) and all(tensor["name"] != FAILURE_NAME for tensor in model_config.get("output", [])):
        problems.append(f"a decoupled model needs the output {FAILURE_NAME} (TYPE_STRING, dims [1]) for failures after its first answer")
    return problems


def _compare(kind: str, field: FieldPlan, tensor: Mapping[str, Any]) -> list[str]:
    wanted: dict[str, Any] = {"data_type": field.data_type, "dims": list(field.dims)}
    found: dict[str, Any] = {"data_type": tensor["data_type"], "dims": [int(size) for size in tensor["dims"]]}
    if kind == "input":
        wanted["optional"], found["optional"] = field.optional, bool(tensor.get("optional", False))
    return [
        f"{kind} {field.tensor}: config.pbtxt says {key} {found[key]}, the schema says {value}"
        for key, value in wanted.items()
        if found[key] != value
    ]
