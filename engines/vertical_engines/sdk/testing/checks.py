"""What Triton's core refuses before a model runs, in its own words."""

import json
from collections.abc import Mapping
from typing import Any

from vertical_engines.sdk.dtypes import NUMPY_DTYPES, STRING
from vertical_engines.sdk.testing.requests import FakeRequest

_WIRE_NAMES = {STRING: "BYTES"}


_BATCH_NOTE = (
    "NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape. "
    "If you want to specify the full shape including the batch dim in your input dims config, try setting max_batch_size to zero. "
    "See the model configuration docs for more info on max_batch_size."
)


def problem(request: FakeRequest, config: Mapping[str, Any]) -> str | None:
    """What the core refuses: numbers of inputs, unknown names, types and shapes. Which input is missing it does not look at."""
    configured = {tensor["name"]: tensor for tensor in config.get("input", [])}
    name, limit = config["name"], int(config.get("max_batch_size", 0))
    batched = limit > 0
    if refusal := _count_problem(request, configured, name):
        return refusal
    for tensor in request.inputs():
        wanted = configured.get(tensor.name())
        if wanted is None:
            return f"unexpected inference input '{tensor.name()}' for model '{name}'"
        array, data_type = tensor.as_numpy(), wanted["data_type"]
        if array.dtype != NUMPY_DTYPES[data_type]:
            got = next((key for key, dtype in NUMPY_DTYPES.items() if dtype == array.dtype), str(array.dtype))
            return f"inference input '{tensor.name()}' data-type is '{_wire(got)}', but model '{name}' expects '{_wire(data_type)}'"
        dims = [-1] * batched + [int(size) for size in wanted["dims"]]
        if array.ndim != len(dims) or any(size not in (-1, got) for size, got in zip(dims, array.shape, strict=True)):
            expected, got = (json.dumps(shape, separators=(",", ":")) for shape in (dims, list(array.shape)))
            note = _BATCH_NOTE if batched else ""
            return f"unexpected shape for input '{tensor.name()}' for model '{name}'. Expected {expected}, got {got}. {note}"
    if batched and (refusal := _batch_problem(request, limit, name)):
        return refusal
    for output in request.wanted(set()):
        if output not in {tensor["name"] for tensor in config.get("output", [])}:
            return f"unexpected inference output '{output}' for model '{name}'"
    return None


def _count_problem(request: FakeRequest, configured: Mapping[str, Any], name: str) -> str | None:
    required = sorted(key for key, tensor in configured.items() if not tensor.get("optional", False))
    given = sorted(tensor.name() for tensor in request.inputs())
    least, most, count = len(required), len(configured), len(given)
    if least <= count <= most:
        return None
    expected = f"{most} inputs" if least == most else f"number of inputs between {least} and {most}"
    # An empty list of missing inputs loses its first bracket in the real server.
    missing = _listed([key for key in required if key not in given]).replace("[]", "]")
    hint = f"Got input(s) {_listed(given)}, but missing required input(s) {missing}. Please provide all required input(s)."
    return f"expected {expected} but got {count} inputs for model '{name}'. {hint}"


def _batch_problem(request: FakeRequest, limit: int, name: str) -> str | None:
    sizes = {tensor.name(): tensor.as_numpy().shape[0] for tensor in request.inputs()}
    first = next(iter(sizes.values()), 1)
    for tensor, size in sizes.items():
        if size != first:
            return f"input '{tensor}' batch size does not match other inputs for '{name}'"
    return f"inference request batch-size must be <= {limit} for '{name}'" if first > limit else None


def _listed(names: list[str]) -> str:
    return "[" + ",".join(f"'{name}'" for name in names) + "]"


def _wire(data_type: str) -> str:
    return _WIRE_NAMES.get(data_type, data_type.removeprefix("TYPE_"))
