"""Requests of the fake server: from a client, or from a BLS model to another one."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any, Protocol

from vertical_engines.sdk.testing.responding import FakeResponse, FakeSender
from vertical_engines.sdk.testing.tensors import FakeTensor, FakeTritonError

_NOT_DECOUPLED = (
    "Model {model} is using the decoupled. The current BLS request call doesn't support models using the decoupled transaction policy. "
    "Please use 'decoupled=True' argument to the 'exec' or 'async_exec' calls for decoupled models.'"
)
"""The stub's words."""


class Server(Protocol):
    """Where a request runs: every response to it, and whether a model is decoupled."""

    def run(self, name: str, requests: list[Any]) -> list[list[FakeResponse]]: ...

    def is_decoupled(self, name: str) -> bool: ...

    def is_loaded(self, name: str) -> bool: ...


class FakeRequest:
    """Takes the arguments of `pb_utils.InferenceRequest` and no other ones."""

    server: Server

    def __init__(
        self,
        *,
        model_name: str,
        inputs: list[FakeTensor],
        requested_output_names: list[str] | None = None,
        request_id: str = "",
        correlation_id: int | str = 0,
        model_version: int = -1,
        flags: int = 0,
        timeout: int = 0,
        preferred_memory: Any = None,
        trace: Any = None,
        parameters: dict[str, Any] | None = None,
    ) -> None:
        self.model, self._inputs, self._wanted, self._id = model_name, inputs, requested_output_names, request_id
        self._correlation, self._flags, self._timeout, self._trace = correlation_id, flags, timeout, trace
        self._parameters, self.version, self.memory = dict(parameters or {}), model_version, preferred_memory
        self.cancelled = False
        self._sender: FakeSender | None = None

    def inputs(self) -> list[FakeTensor]:
        return list(self._inputs)

    def request_id(self) -> str:
        return self._id

    def correlation_id(self) -> int | str:
        return self._correlation

    def flags(self) -> int:
        return self._flags

    def timeout(self) -> int:
        """Microseconds; 0 is none."""
        return self._timeout

    def trace(self) -> Any:
        return self._trace

    def parameters(self) -> str:
        """JSON, as in the stub."""
        return json.dumps(self._parameters)

    def requested_output_names(self) -> list[str]:
        return list(self._wanted or [])

    def is_cancelled(self) -> bool:
        return self.cancelled

    def get_response_sender(self) -> FakeSender:
        """For models that answer later and return None from execute()."""
        self._sender = FakeSender()
        return self._sender

    def sent(self) -> list[FakeResponse]:
        """The answers that came through the sender; fails where the server would hang."""
        assert self._sender is not None, "execute() returned None for a request without a response sender: the server hangs"
        return self._sender.wait()

    def wanted(self, declared: set[str]) -> set[str]:
        return set(self._wanted) if self._wanted else declared

    def exec(self, decoupled: bool = False) -> Any:
        """A child call. Every error arrives as INTERNAL, as it does through the real BLS. `decoupled`: an iterator of responses."""
        if self.server.is_decoupled(self.model) and not decoupled:
            return FakeResponse(error=FakeTritonError(_NOT_DECOUPLED.format(model=self.model), FakeTritonError.INTERNAL))
        if not self.server.is_loaded(self.model):
            return self._refused(decoupled)
        responses = [_internal(response) for response in self.server.run(self.model, [self])[0]]
        return self._iterated(responses) if decoupled else responses[0]

    async def async_exec(self, decoupled: bool = False) -> Any:
        """exec() beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(None, self.exec, decoupled)

    def _refused(self, decoupled: bool) -> Any:
        words = f"Failed for execute the inference request. Model '{self.model}' is not ready."
        response = FakeResponse(error=FakeTritonError(words, FakeTritonError.INTERNAL))
        return iter([response]) if decoupled else response

    def _iterated(self, responses: list[FakeResponse]) -> Iterator[FakeResponse]:
        yield from responses
        if self.server.is_decoupled(self.model):
            yield FakeResponse([])  # carries the final flag


def _internal(response: FakeResponse) -> FakeResponse:
    return FakeResponse(error=FakeTritonError(response.error().message(), FakeTritonError.INTERNAL)) if response.has_error() else response
