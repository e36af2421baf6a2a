"""What carries named arrays to a model and back; one implementation per protocol, sync and asyncio."""

from collections.abc import Sequence
from typing import Any, Protocol

from vertical_engines.sdk.dtypes import NUMPY_DTYPES, STRING, Array

Named = Sequence[tuple[str, Array]]

_WIRE_TYPES = {dtype: "BYTES" if name == STRING else name.removeprefix("TYPE_") for name, dtype in NUMPY_DTYPES.items()}


class Transport(Protocol):
    """Raises VerticalError and its subclasses only."""

    def infer(self, model: str, tensors: Named, *, timeout: float, request_id: str) -> list[tuple[str, Array]]: ...

    def ready(self, model: str) -> bool: ...

    def close(self) -> None: ...


class AsyncTransport(Protocol):
    """The same for asyncio."""

    async def infer(self, model: str, tensors: Named, *, timeout: float, request_id: str) -> list[tuple[str, Array]]: ...

    async def ready(self, model: str) -> bool: ...

    async def close(self) -> None: ...


def inputs_of(module: Any, tensors: Named) -> list[Any]:
    """Arrays as the InferInput objects of a tritonclient module."""
    inputs = []
    for name, array in tensors:
        one = module.InferInput(name, list(array.shape), _WIRE_TYPES[array.dtype])
        one.set_data_from_numpy(array)
        inputs.append(one)
    return inputs
