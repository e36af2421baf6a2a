"""The base class of Triton python models: typed request in, typed response out, one failure never takes another request along."""

import importlib
import json
import traceback
from typing import Any, ClassVar, Generic, TypeVar

from vertical_engines.sdk.cache import refuse_response_cache
from vertical_engines.sdk.children import ChildCaller
from vertical_engines.sdk.codec import InvalidMessage, codec_of
from vertical_engines.sdk.drift import config_drift
from vertical_engines.sdk.errors import BadRequest, CodecError, ErrorCode, RequestFailure, to_message
from vertical_engines.sdk.fields import TritonFieldModel
from vertical_engines.sdk.workers import Workers

RequestT = TypeVar("RequestT", bound=TritonFieldModel)
ResponseT = TypeVar("ResponseT", bound=TritonFieldModel)
ChildT = TypeVar("ChildT", bound=TritonFieldModel)


class TritonPythonModel(Generic[RequestT, ResponseT]):
    """Subclass it in model.py: name the schemas, prepare in `setup`, answer in `handle`.

    Failures of `handle`: RequestFailure and its subclasses keep their code and message; anything else becomes INTERNAL
    with `Type: message`, and its traceback goes to the log, never to the client.
    """

    request_model: ClassVar[type[TritonFieldModel]]
    response_model: ClassVar[type[TritonFieldModel]]
    public: ClassVar[bool] = False
    """Clients call it directly: messages carry no code in front, and the response cache is refused."""
    concurrency: ClassVar[int] = 1
    """Requests that one instance answers at once, each in a thread: `handle` must then be thread safe. Saves an entry
    model, which waits for its children most of the time, from one process per request in flight."""

    model_name: str
    model_config: dict[str, Any]
    parameters: dict[str, str]
    """String parameters of config.pbtxt."""

    def initialize(self, args: dict[str, str]) -> None:
        """Called by Triton once per instance. Raises ValueError when config.pbtxt and schemas differ: the model does not load."""
        self.model_name = args["model_name"]
        self.model_config = json.loads(args["model_config"])
        self.arguments = dict(args)
        self.parameters = {key: value.get("string_value", "") for key, value in self.model_config.get("parameters", {}).items()}
        problems = config_drift(self.model_config, request=self.request_model.plan(), response=self.response_model.plan())
        if refusal := refuse_response_cache(self.model_config, public=self.public):
            problems.append(refusal)
        if problems:
            raise ValueError(f"{self.model_name}: " + "; ".join(problems))
        # Not at the top of the module: the stub fills this module in only after model.py is imported.
        self._pb = importlib.import_module("triton_python_backend_utils")
        self._children = ChildCaller(self._pb)
        self._request_codec = codec_of(self.request_model)
        self._response_codec = codec_of(self.response_model)
        self.setup()
        self._workers = self._start_workers() if self.concurrency > 1 else None

    def setup(self) -> None:
        """Load what `handle` needs. Other models may not be loaded yet, so they can't be called here."""

    def handle(self, request: RequestT) -> ResponseT:
        """The answer to one validated request."""
        raise NotImplementedError(f"{type(self).__name__} does not define handle()")

    def finalize(self) -> None:
        """Called by Triton before the model is unloaded. Returns when nothing is being answered any more."""
        if self._workers:
            self._workers.close()

    def execute(self, requests: list[Any]) -> list[Any] | None:
        """Called by Triton with independent requests: as many responses, or None when workers send them."""
        if self._workers is None:
            return [self._respond(request) for request in requests]
        for request in requests:
            self._workers.take(request)
        return None

    def _infer_model(
        self, request_model: TritonFieldModel, response_model_cls: type[ChildT], model_name: str, **infer_kwargs: Any
    ) -> ChildT:
        """Call another model of this server and return its typed answer.

        `infer_kwargs` go to `pb_utils.InferenceRequest` as they are. Raises ChildError with the child's code, or
        ChildUnavailable when its answer lacks required outputs.
        """
        return self._children.call(request_model, response_model_cls, model_name, **infer_kwargs)

    def _start_workers(self) -> Workers:
        return Workers(self.concurrency, respond=self._respond, final_flag=self._pb.TRITONSERVER_RESPONSE_COMPLETE_FINAL)

    def _respond(self, request: Any) -> Any:
        try:
            tensors = self._encode(self.handle(self._decode(request)))
            return self._pb.InferenceResponse(output_tensors=tensors)
        except RequestFailure as failure:
            return self._failed(failure)
        except (Exception, SystemExit) as error:
            # The one place that may catch everything: what leaves execute() fails every request of the batch, and what
            # ends a worker leaves its caller waiting for ever.
            self._pb.Logger.log_error(f"{self.model_name}: {traceback.format_exc()}")
            return self._failed(RequestFailure(f"{type(error).__name__}: {error}", code=ErrorCode.INTERNAL))

    def _decode(self, request: Any) -> Any:
        self._children.parent.set(request)
        try:
            return self._request_codec.decode((tensor.name(), tensor.as_numpy()) for tensor in request.inputs())
        except InvalidMessage as error:
            raise BadRequest(str(error)) from error

    def _encode(self, response: Any) -> list[Any]:
        if not isinstance(response, self.response_model):
            raise TypeError(f"handle() returned {type(response).__name__}, not {self.response_model.__name__}")
        try:
            named = self._response_codec.encode(response)
        except CodecError as error:
            raise RequestFailure(f"response {error}") from error
        return [self._pb.Tensor(name, array) for name, array in named]

    def _failed(self, failure: RequestFailure) -> Any:
        message = failure.message if self.public else to_message(failure)
        code = getattr(self._pb.TritonError, failure.code.value)
        return self._pb.InferenceResponse(output_tensors=[], error=self._pb.TritonError(message, code))
