"""The input and output section of config.pbtxt, made from schemas, in the JSON form in which Triton hands it to python models."""

from typing import Any

from vertical_engines.sdk.cache import SALT_NAME
from vertical_engines.sdk.errors import FAILURE_NAME
from vertical_engines.sdk.plan import SchemaPlan

SALT_INPUT = {"name": SALT_NAME, "data_type": "TYPE_UINT64", "dims": [1], "optional": True}
FAILURE_OUTPUT = {"name": FAILURE_NAME, "data_type": "TYPE_STRING", "dims": [1]}


def inputs_of(plan: SchemaPlan, *, salted: bool = False) -> list[dict[str, Any]]:
    """One entry a field; `optional` only where it is true. `salted` adds the input that a response cache needs."""
    inputs = []
    for field in plan.fields:
        entry: dict[str, Any] = {"name": field.tensor, "data_type": field.data_type, "dims": list(field.dims)}
        inputs.append({**entry, "optional": True} if field.optional else entry)
    if salted and all(entry["name"] != SALT_NAME for entry in inputs):
        inputs.append(dict(SALT_INPUT))
    return inputs


def outputs_of(plan: SchemaPlan) -> list[dict[str, Any]]:
    """One entry a field. Triton knows no optional outputs: one that is None is left out of the answer."""
    return [{"name": field.tensor, "data_type": field.data_type, "dims": list(field.dims)} for field in plan.fields]


def model_config_of(
    name: str, *, request: SchemaPlan, response: SchemaPlan, max_batch_size: int = 0, decoupled: bool = False
) -> dict[str, Any]:
    """A whole configuration of a python model, for tests and as a start of one's own."""
    config: dict[str, Any] = {
        "name": name,
        "backend": "python",
        "max_batch_size": max_batch_size,
        "input": inputs_of(request),
        "output": outputs_of(response),
        "instance_group": [{"kind": "KIND_CPU", "count": 1}],
    }
    if decoupled:
        config["output"].append(dict(FAILURE_OUTPUT))
        config["model_transaction_policy"] = {"decoupled": True}
    return config
