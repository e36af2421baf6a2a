"""The base class of models that call children with asyncio: requests of a batch, and the children of one, at the same time."""

import asyncio
from typing import Any

from vertical_engines.sdk.base_model import RequestT, ResponseT, TypedModel


class AsyncTritonPythonModel(TypedModel[RequestT, ResponseT]):
    """`async def handle(...)`, with `await self._infer_model_async(...)` and asyncio.gather inside. Not for decoupled models."""

    async def handle(self, request: RequestT) -> ResponseT:
        """The answer to one validated request."""
        raise NotImplementedError(f"{type(self).__name__} does not define handle()")

    async def execute(self, requests: list[Any]) -> list[Any]:
        """Called by Triton, which runs it in an event loop of its own."""
        return list(await asyncio.gather(*(self._answer(request) for request in requests)))

    async def _answer(self, request: Any) -> Any:
        # Each request is a task of its own, so that the parent of child calls is too.
        with self._answering.contained() as outcome:
            return self._answering.encoded(await self.handle(self._answering.decoded(request)))
        return self._answering.failed(outcome.failure)

    def _problems(self) -> list[str]:
        problems = super()._problems()
        if self.decoupled:
            problems.append("a decoupled model needs TritonPythonModel and stream()")
        if self.batched:
            problems.append("a model with max_batch_size needs TritonPythonModel and handle_batch()")
        return problems
