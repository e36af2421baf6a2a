"""Answers dynamic batches of a model with max_batch_size: one call of a handler for many requests, one response for each."""

from collections.abc import Callable
from typing import Any

import numpy as np
from pydantic import BaseModel

from vertical_engines.sdk.answering import Answering
from vertical_engines.sdk.codec import InvalidMessage
from vertical_engines.sdk.columns import ColumnCodec
from vertical_engines.sdk.context import Context
from vertical_engines.sdk.errors import BadRequest, CodecError, RequestFailure
from vertical_engines.sdk.fields import TritonFieldModel
from vertical_engines.sdk.rows import RowCodec

Batch = list[Any]


class RowAnswering:
    """`handle(rows)` gives a response object or a RequestFailure for each row. A bad row fails its request, and no other one."""

    def __init__(self, answering: Answering, *, request: type[TritonFieldModel], response: type[TritonFieldModel]) -> None:
        self._answering = answering
        self._request: RowCodec[Any] = RowCodec(request)
        self._response: RowCodec[Any] = RowCodec(response)

    def answer(self, requests: Batch, handle: Callable[[Batch], Batch]) -> Batch:
        """As many responses as requests. Where the handler itself fails, each request is handled alone once more."""
        self._answering.children.parent.set(Context.of(requests[0]) if len(requests) == 1 else None)
        groups = [self._rows(request) for request in requests]
        rows = [row for group in groups if isinstance(group, list) for row in group]
        with self._answering.contained() as outcome:
            answers = iter(_counted(handle(rows), len(rows)) if rows else [])
        if outcome.failure and len(requests) > 1:
            return [response for request in requests for response in self.answer([request], handle)]
        if outcome.failure:
            return [self._answering.failed(outcome.failure)]
        return [
            self._answering.failed(group) if isinstance(group, RequestFailure) else self._encoded([next(answers) for _ in group])
            for group in groups
        ]

    def _rows(self, request: Any) -> list[Any] | RequestFailure:
        try:
            return self._request.decode((tensor.name(), tensor.as_numpy()) for tensor in request.inputs())
        except InvalidMessage as error:
            return BadRequest(str(error))

    def _encoded(self, answers: Batch) -> Any:
        for number, answer in enumerate(answers):
            if isinstance(answer, RequestFailure):
                words = answer.message if len(answers) == 1 else f"row {number}: {answer.message}"
                return self._answering.failed(RequestFailure(words, code=answer.code))
        with self._answering.contained() as outcome:
            return self._answering.encoded_rows(answers, self._response)
        return self._answering.failed(outcome.failure)


class ColumnAnswering:
    """`handle(columns)` gives an object of columns for all rows of all requests at once."""

    def __init__(self, answering: Answering, *, request: type[TritonFieldModel], response: type[TritonFieldModel]) -> None:
        self._answering = answering
        self._request, self._response = ColumnCodec(request), ColumnCodec(response)

    def answer(self, requests: Batch, handle: Callable[[Any], BaseModel]) -> Batch:
        """As many responses as requests. Where they do not go together, or one is bad, each is handled alone."""
        inputs = [{tensor.name(): tensor.as_numpy() for tensor in request.inputs()} for request in requests]
        if len(requests) > 1 and not _go_together(inputs):
            return self._one_by_one(requests, handle)
        self._answering.children.parent.set(Context.of(requests[0]) if len(requests) == 1 else None)
        sizes = [next(iter(tensors.values())).shape[0] for tensors in inputs]
        with self._answering.contained() as outcome:
            joined = ((name, np.concatenate([tensors[name] for tensors in inputs])) for name in inputs[0])
            try:
                named = self._response.encode(handle(self._request.decode(joined)))
            except InvalidMessage as error:
                raise BadRequest(str(error)) from error
            except CodecError as error:
                raise RequestFailure(f"response {error}") from error
            ends = np.cumsum(sizes)
            for name, array in named:
                if len(array) != ends[-1]:
                    raise TypeError(f"handle_columns() gave {len(array)} rows of {name} for {ends[-1]}")
            return [
                self._answering.response([(name, array[end - size : end]) for name, array in named])
                for size, end in zip(sizes, ends, strict=True)
            ]
        return self._one_by_one(requests, handle) if len(requests) > 1 else [self._answering.failed(outcome.failure)]

    def _one_by_one(self, requests: Batch, handle: Callable[[Any], BaseModel]) -> Batch:
        return [response for request in requests for response in self.answer([request], handle)]


def _go_together(inputs: list[dict[str, Any]]) -> bool:
    shapes = [{name: array.shape[1:] for name, array in tensors.items()} for tensors in inputs]
    return all(shape == shapes[0] for shape in shapes)


def _counted(answers: Batch, count: int) -> Batch:
    if len(answers) != count:
        raise TypeError(f"handle_batch() gave {len(answers)} answers for {count} rows")
    return answers
