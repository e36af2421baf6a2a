"""The base class of Triton python models: typed request in, typed response out, one failure never takes another request along."""

from collections.abc import Iterator
from typing import Any, ClassVar

from vertical_engines.sdk.base_model import RequestT, ResponseT, TypedModel
from vertical_engines.sdk.workers import Workers


class TritonPythonModel(TypedModel[RequestT, ResponseT]):
    """Subclass it in model.py: name the schemas, prepare in `setup`, answer in `handle`, or in `stream` if the model is decoupled."""

    concurrency: ClassVar[int] = 1
    """Requests that one instance answers at once, each in a thread: `handle` must then be thread safe. Saves an entry
    model, which waits for its children most of the time, from one process per request in flight."""

    def initialize(self, args: dict[str, str]) -> None:
        super().initialize(args)
        self._workers = None
        if self.concurrency > 1 or self.decoupled:
            self._workers = Workers(self.concurrency, answer=self._stream if self.decoupled else self._send)

    def handle(self, request: RequestT) -> ResponseT:
        """The answer to one validated request."""
        raise NotImplementedError(f"{type(self).__name__} does not define handle()")

    def stream(self, request: RequestT) -> Iterator[ResponseT]:
        """The answers to one validated request of a decoupled model, each sent as soon as it is there."""
        yield self.handle(request)

    def finalize(self) -> None:
        if self._workers:
            self._workers.close()

    def execute(self, requests: list[Any]) -> list[Any] | None:
        """Called by Triton with independent requests: as many responses, or None when workers send them."""
        if self._workers is None:
            return [self._answering.answer(request, self.handle) for request in requests]
        for request in requests:
            self._workers.take(request)
        return None

    def _send(self, request: Any, sender: Any) -> None:
        sender.send(self._answering.answer(request, self.handle), flags=self._answering.final_flag)

    def _stream(self, request: Any, sender: Any) -> None:
        answering = self._answering
        answered = False
        with answering.contained() as outcome:
            for response in self.stream(answering.decoded(request)):
                sender.send(answering.encoded(response))
                answered = True
                if request.is_cancelled():
                    break
        if outcome.failure and not answered:
            sender.send(answering.failed(outcome.failure), flags=answering.final_flag)
            return
        if outcome.failure:
            sender.send(answering.failed_in_band(outcome.failure))
        sender.send(flags=answering.final_flag)
