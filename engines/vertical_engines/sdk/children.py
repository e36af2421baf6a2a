"""Calls to other models of the same server (BLS): typed, with the child's error code restored and its cache salted."""

from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np

from vertical_engines.sdk.cache import SALT_NAME, cache_salt, schema_fingerprint
from vertical_engines.sdk.codec import Codec, InvalidMessage, codec_of
from vertical_engines.sdk.dtypes import Array
from vertical_engines.sdk.errors import ChildError, ChildUnavailable, CodecError, ErrorCode, RequestFailure, from_message
from vertical_engines.sdk.fields import TritonFieldModel

ResponseT = TypeVar("ResponseT", bound=TritonFieldModel)


class ChildCaller:
    """Calls children on behalf of one model instance; `parent` is the request being answered, for its cancellation."""

    def __init__(self, pb_utils: Any) -> None:
        self._pb = pb_utils
        self._fingerprints: dict[tuple[type, type], bytes] = {}
        self._epochs: dict[str, int] = {}
        # Each worker thread has a context of its own.
        self.parent: ContextVar[Any] = ContextVar("parent", default=None)

    def call(self, request: TritonFieldModel, response_class: type[ResponseT], model: str, **infer_kwargs: Any) -> ResponseT:
        """One child call; an answer without its required outputs is tried once more past the cache that may have kept it.

        Triton caches a failed answer as an empty success, so a salted child gets a fresh epoch, kept from then on.
        """
        codec = codec_of(response_class)
        try:
            named = codec_of(type(request)).encode(request)
        except CodecError as error:
            raise RequestFailure(f"request to {model}: {error}") from error
        salted = any(field.tensor == SALT_NAME for field in type(request).plan().fields)

        def attempt() -> ResponseT | ChildUnavailable:
            tensors = self._salted(named, request, response_class, model, infer_kwargs) if salted else named
            return self._once(tensors, codec, model, infer_kwargs)

        answer = attempt()
        if salted and isinstance(answer, ChildUnavailable):
            self._epochs[model] = self._epochs.get(model, 0) + 1
            answer = attempt()
        if isinstance(answer, ChildUnavailable):
            raise answer
        return answer

    def _once(
        self, named: list[tuple[str, Array]], codec: Codec[ResponseT], model: str, infer_kwargs: dict[str, Any]
    ) -> ResponseT | ChildUnavailable:
        parent = self.parent.get()
        if parent is not None and parent.is_cancelled():
            raise RequestFailure(f"cancelled by the client before {model} was called", code=ErrorCode.CANCELLED)
        inputs = [self._pb.Tensor(name, array) for name, array in named]
        options = {"requested_output_names": codec.names, **infer_kwargs}
        response = self._pb.InferenceRequest(model_name=model, inputs=inputs, **options).exec()
        if response.has_error():
            code, message = from_message(response.error().message())
            raise ChildError(message, model=model, code=code)
        try:
            return codec.decode((tensor.name(), tensor.as_numpy()) for tensor in response.output_tensors())
        except InvalidMessage as error:
            if error.missing:
                return ChildUnavailable(f"answered without {', '.join(error.missing)}: a failure that a cache kept?", model=model)
            raise ChildError(f"answered with {error}", model=model) from error

    def _salted(
        self,
        named: list[tuple[str, Array]],
        request: TritonFieldModel,
        response_class: type[TritonFieldModel],
        model: str,
        infer_kwargs: dict[str, Any],
    ) -> list[tuple[str, Array]]:
        pair = (type(request), response_class)
        if pair not in self._fingerprints:
            self._fingerprints[pair] = schema_fingerprint(type(request).plan(), response_class.plan())
        parameters = infer_kwargs.get("parameters")
        salt = cache_salt(self._fingerprints[pair], named, parameters=parameters, epoch=self._epochs.get(model, 0))
        return [pair for pair in named if pair[0] != SALT_NAME] + [(SALT_NAME, np.array([salt], np.uint64))]
