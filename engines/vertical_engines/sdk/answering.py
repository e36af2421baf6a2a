"""From requests to typed objects and from typed objects to responses, for one model instance."""

from collections.abc import Callable
from typing import Any

import numpy as np

from vertical_engines.sdk.children import ChildCaller
from vertical_engines.sdk.codec import InvalidMessage, codec_of
from vertical_engines.sdk.containment import Contained
from vertical_engines.sdk.context import Context
from vertical_engines.sdk.dtypes import Array
from vertical_engines.sdk.errors import FAILURE_NAME, BadRequest, CodecError, RequestFailure, to_message
from vertical_engines.sdk.fields import TritonFieldModel


class Answering:
    """`public`: clients see the messages, so no code stands in front of them."""

    def __init__(
        self, pb_utils: Any, *, name: str, request: type[TritonFieldModel], response: type[TritonFieldModel], public: bool
    ) -> None:
        self._pb = pb_utils
        self._name = name
        self._response = response
        self._public = public
        self._request_codec = codec_of(request)
        self._response_codec = codec_of(response)
        self.children = ChildCaller(pb_utils)
        self.final_flag = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL

    def answer(self, request: Any, handle: Callable[[Any], Any]) -> Any:
        """The response to one request, whatever happens."""
        with self.contained() as outcome:
            return self.encoded(handle(self.decoded(request)))
        return self.failed(outcome.failure)

    def contained(self) -> Contained:
        return Contained(self._log)

    def decoded(self, request: Any) -> Any:
        """The typed request, which from now on is the parent of child calls. Raises BadRequest."""
        self.children.parent.set(Context.of(request))
        try:
            return self._request_codec.decode_tensors(request.inputs())
        except InvalidMessage as error:
            raise BadRequest(str(error)) from error

    def encoded(self, response: Any) -> Any:
        """The response object as a response. Raises RequestFailure for a value that does not fit, TypeError for another class."""
        self._check_type(response)
        try:
            return self._pb.InferenceResponse(output_tensors=self._response_codec.encode_tensors(response, self._pb.Tensor))
        except CodecError as error:
            raise RequestFailure(f"response {error}") from error

    def encoded_rows(self, responses: list[Any], codec: Any) -> Any:
        """The response objects of all rows of one request as its response."""
        for response in responses:
            self._check_type(response)
        try:
            return self.response(codec.encode(responses))
        except CodecError as error:
            raise RequestFailure(f"response {error}") from error

    def response(self, named: list[tuple[str, Array]]) -> Any:
        return self._pb.InferenceResponse(output_tensors=[self._pb.Tensor(name, array) for name, array in named])

    def failed(self, failure: RequestFailure | None) -> Any:
        """The failure as a response."""
        assert failure is not None
        message = failure.message if self._public else to_message(failure)
        code = getattr(self._pb.TritonError, failure.code.value)
        return self._pb.InferenceResponse(output_tensors=[], error=self._pb.TritonError(message, code))

    def failed_in_band(self, failure: RequestFailure) -> Any:
        """The failure as an output: an error after an answer is lost on its way to a BLS caller, or leaves it waiting for ever."""
        return self._pb.InferenceResponse(output_tensors=[self._pb.Tensor(FAILURE_NAME, np.array([to_message(failure)], object))])

    def _check_type(self, response: Any) -> None:
        if not isinstance(response, self._response):
            raise TypeError(f"handle() returned {type(response).__name__}, not {self._response.__name__}")

    def _log(self, text: str) -> None:
        self._pb.Logger.log_error(f"{self._name}: {text}")
