"""What every typed model has in common: loading, checks of its configuration, child calls, and the conversions by their published names."""

import importlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from vertical_engines.sdk import compat
from vertical_engines.sdk.answering import Answering
from vertical_engines.sdk.cache import refuse_response_cache
from vertical_engines.sdk.child_cache import ChildCache
from vertical_engines.sdk.context import Context
from vertical_engines.sdk.drift import config_drift, is_decoupled
from vertical_engines.sdk.fastbytes import install_fastbytes
from vertical_engines.sdk.fields import TritonFieldModel

RequestT = TypeVar("RequestT", bound=TritonFieldModel)
ResponseT = TypeVar("ResponseT", bound=TritonFieldModel)
ChildT = TypeVar("ChildT", bound=TritonFieldModel)


class TypedModel(Generic[RequestT, ResponseT]):
    """Failures of a handler: RequestFailure and its subclasses keep their code and message; anything else becomes INTERNAL
    with `Type: message`, and its traceback goes to the log, never to the client.
    """

    request_model: ClassVar[type[TritonFieldModel]] = TritonFieldModel
    response_model: ClassVar[type[TritonFieldModel]] = TritonFieldModel
    public: ClassVar[bool] = False
    """Clients call it directly: messages carry no code in front, and the response cache is refused."""

    deterministic: ClassVar[bool] = True
    """The same request gets the same answer. A model that samples sets False, and the response cache is refused."""
    child_caches: ClassVar[Mapping[str, ChildCache]] = {}
    """Answers of children that this process keeps, by name of the child: saves the call, unlike Triton's own cache."""

    model_name: str
    model_config: dict[str, Any]
    parameters: dict[str, str]
    """String parameters of config.pbtxt."""

    convert_pydantic_to_pb_tensors = staticmethod(compat.convert_pydantic_to_pb_tensors)
    convert_pb_tensors_to_pydantic = staticmethod(compat.convert_pb_tensors_to_pydantic)
    get_field_names = staticmethod(compat.get_field_names)

    @classmethod
    def auto_complete_config(cls, auto_complete_model_config: Any) -> Any:
        """Called by Triton before loading, unless switched off: config.pbtxt then needs no inputs and outputs, and must not contradict."""
        for field in cls.request_model.plan().fields:
            shape = {"name": field.tensor, "data_type": field.data_type, "dims": list(field.dims)}
            auto_complete_model_config.add_input({**shape, "optional": True} if field.optional else shape)
        for field in cls.response_model.plan().fields:
            auto_complete_model_config.add_output({"name": field.tensor, "data_type": field.data_type, "dims": list(field.dims)})
        return auto_complete_model_config

    def initialize(self, args: dict[str, str]) -> None:
        """Called by Triton once per instance. Raises ValueError when config.pbtxt and schemas differ: the model does not load."""
        self.model_name = args["model_name"]
        self.model_config = json.loads(args["model_config"])
        self.arguments = dict(args)
        self.parameters = {key: value.get("string_value", "") for key, value in self.model_config.get("parameters", {}).items()}
        self.batched = int(self.model_config.get("max_batch_size", 0)) > 0
        """Tensors have an axis of rows in front, and the schemas describe one row."""
        self.decoupled = is_decoupled(self.model_config)
        if problems := self._problems():
            raise ValueError(f"{self.model_name}: " + "; ".join(problems))
        # Not at the top of the module: the stub fills this module in only after model.py is imported.
        pb_utils = importlib.import_module("triton_python_backend_utils")
        self._answering = Answering(
            pb_utils, name=self.model_name, request=self.request_model, response=self.response_model, public=self.public
        )
        self._answering.children.caches = self.child_caches
        install_fastbytes(pb_utils)
        self.setup()

    def setup(self) -> None:
        """Load what the handler needs. Other models may not be loaded yet, so they can't be called here."""

    def finalize(self) -> None:
        """Called by Triton before the model is unloaded. Returns when nothing is being answered any more."""

    def _infer_model(
        self, request_model: TritonFieldModel, response_model_cls: type[ChildT], model_name: str, **infer_kwargs: Any
    ) -> ChildT:
        """Call another model of this server and return its typed answer.

        The child inherits request id, correlation id, trace and what is left of the timeout; `infer_kwargs` go to
        `pb_utils.InferenceRequest` as they are, and win; `batch_inference=True` is for a child with max_batch_size.
        Raises ChildError with the child's code, ChildUnavailable when its answer lacks required outputs, RequestFailure
        once the client has cancelled or the timeout is over.
        """
        return self._answering.children.call(request_model, response_model_cls, model_name, **infer_kwargs)

    async def _infer_model_async(
        self, request_model: TritonFieldModel, response_model_cls: type[ChildT], model_name: str, **infer_kwargs: Any
    ) -> ChildT:
        """`_infer_model` for `async` handlers: several with asyncio.gather run at the same time."""
        return await self._answering.children.call_async(request_model, response_model_cls, model_name, **infer_kwargs)

    def _infer_stream(
        self, request_model: TritonFieldModel, response_model_cls: type[ChildT], model_name: str, **infer_kwargs: Any
    ) -> Iterator[ChildT]:
        """The answers of a decoupled model as they come; errors as in `_infer_model`."""
        return self._answering.children.stream(request_model, response_model_cls, model_name, **infer_kwargs)

    def _request_context(self) -> Context:
        """The request that is being answered, for long work in a handler: `cancelled()`, `remaining()` seconds, `request` itself.

        Raises LookupError outside of a handler, and in a handle_batch or handle_columns that answers several requests at once.
        """
        context = self._answering.children.parent.get()
        if context is None:
            raise LookupError("no single request is being answered here")
        return context

    def _problems(self) -> list[str]:
        problems = []
        # A model that converts by itself need not name its schemas.
        if self.request_model is not TritonFieldModel:
            problems = config_drift(self.model_config, request=self.request_model.plan(), response=self.response_model.plan())
        if self.batched and self.decoupled:
            problems.append("a decoupled model answers one request at a time: set max_batch_size to 0")
        if refusal := refuse_response_cache(self.model_config, public=self.public, deterministic=self.deterministic):
            problems.append(refusal)
        return problems
