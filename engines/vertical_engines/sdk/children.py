"""Calls to other models of the same server (BLS): typed, with the child's error code restored and its cache salted."""

import asyncio
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from vertical_engines.sdk.cache import SALT_NAME, cache_salt, schema_fingerprint
from vertical_engines.sdk.child_cache import ChildCache, Key, key_of
from vertical_engines.sdk.codec import Codec, InvalidMessage, codec_of, only_row
from vertical_engines.sdk.context import Context
from vertical_engines.sdk.dtypes import Array
from vertical_engines.sdk.errors import FAILURE_NAME, ChildError, ChildUnavailable, CodecError, RequestFailure, from_message
from vertical_engines.sdk.fields import TritonFieldModel

ResponseT = TypeVar("ResponseT", bound=TritonFieldModel)


@dataclass(frozen=True)
class _Call(Generic[ResponseT]):
    """One encoded child request, before salt and context."""

    model: str
    codec: Codec[ResponseT]
    named: list[tuple[str, Array]]
    fingerprint: bytes | None
    """Of both schemas, where the child takes a salt."""
    options: dict[str, Any]
    batched: bool
    """The child has a max_batch_size: this is a batch of one row."""
    request: type[TritonFieldModel]

    def key(self) -> Key:
        return key_of(self.named, schemas=(self.request, self.codec.schema), options=self.options)


class ChildCaller:
    """Calls children on behalf of one model instance; `parent` is the request being answered, which its children inherit from.

    An answer without its required outputs is asked for once more past the cache that may have kept it: Triton caches
    a failed answer as an empty success, so a salted child gets a fresh epoch, kept from then on.
    """

    def __init__(self, pb_utils: Any) -> None:
        self._pb = pb_utils
        self._fingerprints: dict[tuple[type, type], bytes] = {}
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
                parent.refuse_what_is_over(f"{model} had finished")

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
        options = dict(infer_kwargs)
        batched = bool(options.pop("batch_inference", False))
        try:
            named = codec_of(type(request)).encode(request)
            if batched:
                named = [(name, array[None]) for name, array in named]
        except CodecError as error:
            raise RequestFailure(f"request to {model}: {error}") from error
        salted = any(field.tensor == SALT_NAME for field in type(request).plan().fields)
        fingerprint = self._fingerprint(type(request), response_class) if salted else None
        return _Call(
            model=model,
            codec=codec_of(response_class),
            named=named,
            fingerprint=fingerprint,
            options=options,
            batched=batched,
            request=type(request),
        )

    def _fingerprint(self, request: type[TritonFieldModel], response: type[TritonFieldModel]) -> bytes:
        if (request, response) not in self._fingerprints:
            self._fingerprints[request, response] = schema_fingerprint(request.plan(), response.plan())
        return self._fingerprints[request, response]

    def _request(self, call: _Call[ResponseT], *, outputs: list[str] | None = None) -> Any:
        parent = self.parent.get()
        inherited: dict[str, Any] = {}
        if parent is not None:
            parent.refuse_what_is_over(f"{call.model} was called")
            inherited = parent.options()
        inputs = [self._pb.Tensor(name, array) for name, array in self._salted(call)]
        # All outputs, always: which ones were asked for is not in the key of Triton's cache.
        options = {"requested_output_names": call.codec.names if outputs is None else outputs, **inherited, **call.options}
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
                return call.codec.decode(
                    (tensor.name(), only_row(tensor.name(), tensor.as_numpy())) for tensor in response.output_tensors()
                )
            return call.codec.decode_tensors(response.output_tensors())
        except CodecError as error:
            raise ChildError(f"answered with {error}", model=call.model) from error
        except InvalidMessage as error:
            if error.missing:
                missing = ", ".join(error.missing)
                return ChildUnavailable(f"answered without {missing}: a failure that a cache kept?", model=call.model)
            raise ChildError(f"answered with {error}", model=call.model) from error

    def _next_epoch(self, call: _Call[ResponseT]) -> bool:
        if call.fingerprint is not None:
            self._epochs[call.model] = self._epochs.get(call.model, 0) + 1
        return call.fingerprint is not None

    def _salted(self, call: _Call[ResponseT]) -> list[tuple[str, Array]]:
        if call.fingerprint is None:
            return call.named
        epoch = self._epochs.get(call.model, 0)
        salt = cache_salt(call.fingerprint, call.named, parameters=call.options.get("parameters"), epoch=epoch)
        return [pair for pair in call.named if pair[0] != SALT_NAME] + [(SALT_NAME, np.full((1,) * (1 + call.batched), salt, np.uint64))]


def _failure_in_band(response: Any) -> str | None:
    for tensor in response.output_tensors() if not response.has_error() else ():
        if tensor.name() == FAILURE_NAME:
            return str(tensor.as_numpy().item().decode(errors="replace"))
    return None


def _raised(answer: ResponseT | ChildUnavailable) -> ResponseT:
    if isinstance(answer, ChildUnavailable):
        raise answer
    return answer
