"""Calls to other models of the same server (BLS): typed, with the child's error code restored and its cache salted."""

import asyncio
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

import numpy as np

from vertical_engines.sdk.cache import SALT_NAME, cache_salt, schema_fingerprint
from vertical_engines.sdk.child_cache import ChildCache, Key, key_of
from vertical_engines.sdk.codec import InvalidMessage, codec_of, only_row
from vertical_engines.sdk.context import Context
from vertical_engines.sdk.dtypes import Array
from vertical_engines.sdk.errors import FAILURE_NAME, ChildError, ChildUnavailable, CodecError, RequestFailure, from_message
from vertical_engines.sdk.fields import TritonFieldModel

ResponseT = TypeVar("ResponseT", bound=TritonFieldModel)


class _Route(Generic[ResponseT]):
    """What a pair of schemas needs, worked out once per process."""

    def __init__(self, request: type[TritonFieldModel], response: type[ResponseT]) -> None:
        self.schemas = (request, response)
        self.request = codec_of(request)
        self.response = codec_of(response)
        salted = any(field.tensor == SALT_NAME for field in request.plan().fields)
        self.fingerprint = schema_fingerprint(request.plan(), response.plan()) if salted else None
        """Of both schemas, where the child takes a salt."""


class _Call(Generic[ResponseT]):
    """One child request, before salt and context."""

    __slots__ = ("_named", "batched", "model", "options", "request", "route")

    def __init__(self, request: TritonFieldModel, route: _Route[ResponseT], model: str, options: dict[str, Any]) -> None:
        self.request, self.route, self.model, self.options = request, route, model, options
        # The child has a max_batch_size: this is a batch of one row.
        self.batched = bool(options.pop("batch_inference", False))
        self._named: list[tuple[str, Array]] | None = None

    def tensors(self, tensor: Any, *, epoch: int) -> list[Any]:
        """The request's tensors. Raises RequestFailure for a value that its data type can't hold."""
        if self.route.fingerprint is None and not self.batched and self._named is None:
            try:
                return self.route.request.encode_tensors(self.request, tensor)
            except CodecError as error:
                raise self._misfit(error) from error
        return [tensor(name, array) for name, array in self._salted(epoch)]

    def key(self) -> Key:
        """What makes it the same as another one."""
        return key_of(self.named(), schemas=self.route.schemas, options=self.options)

    def named(self) -> list[tuple[str, Array]]:
        if self._named is None:
            try:
                named = self.route.request.encode(self.request)
            except CodecError as error:
                raise self._misfit(error) from error
            self._named = [(name, array[None]) for name, array in named] if self.batched else named
        return self._named

    def _salted(self, epoch: int) -> list[tuple[str, Array]]:
        named = self.named()
        if self.route.fingerprint is None:
            return named
        salt = cache_salt(self.route.fingerprint, named, parameters=self.options.get("parameters"), epoch=epoch)
        return [pair for pair in named if pair[0] != SALT_NAME] + [(SALT_NAME, np.full((1,) * (1 + self.batched), salt, np.uint64))]

    def _misfit(self, error: CodecError) -> RequestFailure:
        return RequestFailure(f"request to {self.model}: {error}")


class ChildCaller:
    """Calls children on behalf of one model instance; `parent` is the request being answered, which its children inherit from.

    An answer without its required outputs is asked for once more past the cache that may have kept it: Triton caches
    a failed answer as an empty success, so a salted child gets a fresh epoch, kept from then on.
    """

    def __init__(self, pb_utils: Any) -> None:
        self._pb = pb_utils
        self._routes: dict[tuple[type, type], _Route[Any]] = {}
        self._epochs: dict[str, int] = {}
        # Each worker thread and each asyncio task has a context of its own.
        self.caches: Mapping[str, ChildCache] = {}
        self.parent: ContextVar[Context | None] = ContextVar("parent", default=None)

    def call(self, request: TritonFieldModel, response_class: type[ResponseT], model: str, **infer_kwargs: Any) -> ResponseT:
        """One child call, or its answer from this process's own cache."""
        call = self._prepare(request, response_class, model, infer_kwargs)
        if (kept := self._find(call)) is not None:
            return kept
        answer = self._read(call, self._request(call).exec())
        if isinstance(answer, ChildUnavailable) and self._next_epoch(call):
            answer = self._read(call, self._request(call).exec())
        return self._keep(call, _raised(answer))

    async def call_async(self, request: TritonFieldModel, response_class: type[ResponseT], model: str, **infer_kwargs: Any) -> ResponseT:
        """One child call that lets others of the same event loop go on. Ends at the parent's deadline."""
        call = self._prepare(request, response_class, model, infer_kwargs)
        if (kept := self._find(call)) is not None:
            return kept
        answer = self._read(call, await self._exec_async(call))
        if isinstance(answer, ChildUnavailable) and self._next_epoch(call):
            answer = self._read(call, await self._exec_async(call))
        return self._keep(call, _raised(answer))

    def stream(self, request: TritonFieldModel, response_class: type[ResponseT], model: str, **infer_kwargs: Any) -> Iterator[ResponseT]:
        """Answers of a decoupled child as they come. The client's cancellation and the deadline end it between two of them."""
        call = self._prepare(request, response_class, model, infer_kwargs)
        parent = self.parent.get()
        # No output names: those of the child's failures are not in the schema.
        opened = self._request(call, outputs=[])
        for response in opened.exec(decoupled=True):
            # Only the final flag, without an answer.
            if not response.has_error() and not response.output_tensors():
                continue
            if failure := _failure_in_band(response):
                code, message = from_message(failure)
                raise ChildError(message, model=model, code=code)
            yield _raised(self._read(call, response))
            if parent is not None:
                parent.refuse_what_is_over(model, "had finished")

    def _find(self, call: _Call[ResponseT]) -> ResponseT | None:
        cache = self.caches.get(call.model)
        found: ResponseT | None = None if cache is None else cache.find(call.key())
        return found

    def _keep(self, call: _Call[ResponseT], answer: ResponseT) -> ResponseT:
        if cache := self.caches.get(call.model):
            cache.keep(call.key(), answer)
        return answer

    def _prepare(
        self, request: TritonFieldModel, response_class: type[ResponseT], model: str, infer_kwargs: dict[str, Any]
    ) -> _Call[ResponseT]:
        pair = (type(request), response_class)
        route = self._routes.get(pair)
        if route is None:
            route = self._routes[pair] = _Route(*pair)
        return _Call(request, route, model, infer_kwargs)

    def _request(self, call: _Call[ResponseT], *, outputs: list[str] | None = None) -> Any:
        parent = self.parent.get()
        inherited: dict[str, Any] = {}
        if parent is not None:
            parent.refuse_what_is_over(call.model, "was called")
            inherited = parent.options()
        inputs = call.tensors(self._pb.Tensor, epoch=self._epochs.get(call.model, 0))
        # All outputs, always: which ones were asked for is not in the key of Triton's cache.
        options = {"requested_output_names": call.route.response.names if outputs is None else outputs, **inherited, **call.options}
        return self._pb.InferenceRequest(model_name=call.model, inputs=inputs, **options)

    async def _exec_async(self, call: _Call[ResponseT]) -> Any:
        parent, request = self.parent.get(), self._request(call)
        try:
            return await asyncio.wait_for(request.async_exec(), parent.remaining() if parent else None)
        except asyncio.TimeoutError:
            raise ChildUnavailable("no answer before the request's timeout", model=call.model) from None

    def _read(self, call: _Call[ResponseT], response: Any) -> ResponseT | ChildUnavailable:
        if response.has_error():
            code, message = from_message(response.error().message())
            raise ChildError(message, model=call.model, code=code)
        try:
            if call.batched:
                return call.route.response.decode(
                    (tensor.name(), only_row(tensor.name(), tensor.as_numpy())) for tensor in response.output_tensors()
                )
            return call.route.response.decode_tensors(response.output_tensors())
        except CodecError as error:
            raise ChildError(f"answered with {error}", model=call.model) from error
        except InvalidMessage as error:
            if error.missing:
                missing = ", ".join(error.missing)
                return ChildUnavailable(f"answered without {missing}: a failure that a cache kept?", model=call.model)
            raise ChildError(f"answered with {error}", model=call.model) from error

    def _next_epoch(self, call: _Call[ResponseT]) -> bool:
        if call.route.fingerprint is not None:
            self._epochs[call.model] = self._epochs.get(call.model, 0) + 1
        return call.route.fingerprint is not None


def _failure_in_band(response: Any) -> str | None:
    for tensor in response.output_tensors() if not response.has_error() else ():
        if tensor.name() == FAILURE_NAME:
            return str(tensor.as_numpy().item().decode(errors="replace"))
    return None


def _raised(answer: ResponseT | ChildUnavailable) -> ResponseT:
    if isinstance(answer, ChildUnavailable):
        raise answer
    return answer
