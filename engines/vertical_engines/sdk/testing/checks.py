"""What Triton's core refuses before a model runs, in its own words."""

from collections.abc import Mapping
from typing import Any

from vertical_engines.sdk.dtypes import NUMPY_DTYPES, STRING
from vertical_engines.sdk.testing.values import FakeRequest

_WIRE_NAMES = {STRING: "BYTES"}


def problem(request: FakeRequest, config: Mapping[str, Any]) -> str | None:
    """What the core refuses: numbers of inputs, unknown names, types and shapes. Which input is missing it does not look at."""
    configured = {tensor["name"]: tensor for tensor in config.get("input", [])}
    least = sum(not tensor.get("optional", False) for tensor in configured.values())
    count, name = len(request.inputs()), config["name"]
    if not least <= count <= len(configured):
        return f"expected number of inputs between {least} and {len(configured)} but got {count} inputs for model '{name}'"
    for tensor in request.inputs():
        wanted = configured.get(tensor.name())
        if wanted is None:
            return f"unexpected inference input '{tensor.name()}' for model '{name}'"
        array, data_type = tensor.as_numpy(), wanted["data_type"]
        if array.dtype != NUMPY_DTYPES[data_type]:
            got = next((key for key, dtype in NUMPY_DTYPES.items() if dtype == array.dtype), str(array.dtype))
            return f"inference input '{tensor.name()}' data-type is '{_wire(got)}', model '{name}' expects '{_wire(data_type)}'"
        dims = [int(size) for size in wanted["dims"]]
        if array.ndim != len(dims) or any(size not in (-1, got) for size, got in zip(dims, array.shape, strict=True)):
            return f"unexpected shape for input '{tensor.name()}' for model '{name}'. Expected {dims}, got {list(array.shape)}"
    for output in request.wanted(set()):
        if output not in {tensor["name"] for tensor in config.get("output", [])}:
            return f"unexpected inference output '{output}' for model '{name}'"
    return None


def _wire(data_type: str) -> str:
    return _WIRE_NAMES.get(data_type, data_type.removeprefix("TYPE_"))
