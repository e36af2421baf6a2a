"""The base class of Triton python models: typed request in, typed response out, one failure never takes another request along."""

from collections.abc import Iterator
from typing import Any, ClassVar

from vertical_engines.sdk.base_model import RequestT, ResponseT, TypedModel
from vertical_engines.sdk.batching import ColumnAnswering, RowAnswering
from vertical_engines.sdk.errors import RequestFailure
from vertical_engines.sdk.workers import Workers


class TritonPythonModel(TypedModel[RequestT, ResponseT]):
    """Subclass it in model.py: name the schemas, prepare in `setup`, answer in `handle`, or in `stream` if the model is decoupled."""

    concurrency: ClassVar[int] = 1
    """Requests that one instance answers at once, each in a thread: `handle` must then be thread safe. Saves an entry
    model, which waits for its children most of the time, from one process per request in flight."""

    def initialize(self, args: dict[str, str]) -> None:
        super().initialize(args)
        self._workers = None
        self._rows = self._columns = None
        schemas: Any = {"request": self.request_model, "response": self.response_model}
        if self.batched and type(self).handle_columns is not TritonPythonModel.handle_columns:
            self._columns = ColumnAnswering(self._answering, **schemas)
        elif self.batched:
            self._rows = RowAnswering(self._answering, **schemas)
        if self.concurrency > 1 or self.decoupled:
            self._workers = Workers(self.concurrency, answer=self._stream if self.decoupled else self._send)

    def handle(self, request: RequestT) -> ResponseT:
        """The answer to one validated request."""
        raise NotImplementedError(f"{type(self).__name__} does not define handle()")

    def handle_batch(self, rows: list[RequestT]) -> list[ResponseT | RequestFailure]:
        """The answers to the rows of all requests that Triton put together, for a model with max_batch_size.

        A RequestFailure instead of an answer fails the request of that row alone. Without an override, `handle` is called
        for each row.
        """
        answers: list[ResponseT | RequestFailure] = []
        for row in rows:
            with self._answering.contained() as outcome:
                answers.append(self.handle(row))
            if outcome.failure:
                answers.append(outcome.failure)
        return answers

    def handle_columns(self, columns: Any) -> Any:
        """Instead of `handle_batch`: all rows as one object of `columns_of(request_model)`, to one of `columns_of(response_model)`.

        For schemas without validators of their own, where the time of single objects matters.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define handle_columns()")

    def stream(self, request: RequestT) -> Iterator[ResponseT]:
        """The answers to one validated request of a decoupled model, each sent as soon as it is there."""
        yield self.handle(request)

    def finalize(self) -> None:
        if self._workers:
            self._workers.close()

    def execute(self, requests: list[Any]) -> list[Any] | None:
        """Called by Triton with independent requests: as many responses, or None when workers send them."""
        if self._workers is None:
            return self._answers(requests)
        for request in requests:
            self._workers.take(request)
        return None

    def _send(self, request: Any, sender: Any) -> None:
        (answer,) = self._answers([request])
        sender.send(answer, flags=self._answering.final_flag)

    def _answers(self, requests: list[Any]) -> list[Any]:
        if self._columns is not None:
            return self._columns.answer(requests, self.handle_columns)
        if self._rows is None:
            return [self._answering.answer(request, self.handle) for request in requests]
        if type(self).handle_batch is TritonPythonModel.handle_batch:
            # Row by row anyway, so that child calls know whose they are.
            return [response for request in requests for response in self._rows.answer([request], self.handle_batch)]
        return self._rows.answer(requests, self.handle_batch)

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
