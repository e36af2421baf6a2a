"""The fake server: loads models, checks requests, runs them, and lets a model call another one."""

import asyncio
import inspect
import json
import sys
import traceback
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

from vertical_engines.sdk.dtypes import Array
from vertical_engines.sdk.errors import ErrorCode
from vertical_engines.sdk.testing import lookups
from vertical_engines.sdk.testing.checks import problem
from vertical_engines.sdk.testing.requests import FakeRequest
from vertical_engines.sdk.testing.responding import FakeResponse, refused
from vertical_engines.sdk.testing.tensors import FakeInferenceError, FakeTensor, FakeTritonError, FakeTritonModelException

Outputs = dict[str, Array]


class FakePbUtils(ModuleType):
    """Stands in for the server and its stub: `with FakePbUtils() as triton: triton.load(...); triton.infer(...)`.

    What the server checks is checked here with the server's words; what it lets through, such as an output of the
    wrong type, passes here too. `log` holds what models logged, `calls` the models in the order in which they were called.
    """

    def __init__(self) -> None:
        super().__init__("triton_python_backend_utils")
        self._models: dict[str, tuple[Any, dict[str, Any]]] = {}
        self.log: list[str] = []
        self.calls: list[str] = []
        self.Tensor = FakeTensor
        self.TritonError = FakeTritonError
        self.TritonModelException = FakeTritonModelException
        self.InferenceResponse = FakeResponse
        self.Logger = _Logger(self.log)
        self.MetricFamily = lookups.FakeMetricFamily
        self.TRITONSERVER_RESPONSE_COMPLETE_FINAL = 1
        self.InferenceRequest = type("InferenceRequest", (FakeRequest,), {"server": self})
        for name in ("get_input_tensor_by_name", "get_output_tensor_by_name", "triton_string_to_numpy"):
            setattr(self, name, getattr(lookups, name))
        self.get_input_config_by_name, self.get_output_config_by_name = lookups.get_input_config_by_name, lookups.get_output_config_by_name

    def __enter__(self) -> "FakePbUtils":
        self._before = sys.modules.get(self.__name__)
        sys.modules[self.__name__] = self
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is None:
            del sys.modules[self.__name__]
        else:
            sys.modules[self.__name__] = self._before

    def load(self, model: Any, config: Mapping[str, Any], *, repository: Path | None = None) -> None:
        """Initialize a model as the stub does and serve it under its configured name. `config` is Triton's JSON form."""
        name = str(config["name"])
        folder = str((repository or Path("/models")) / name)
        arguments = {"model_config": json.dumps(config), "model_name": name, "model_version": "1", "model_repository": folder}
        arguments |= {"model_instance_name": f"{name}_0_0", "model_instance_kind": "CPU", "model_instance_device_id": "0"}
        if hasattr(model, "initialize"):
            model.initialize(arguments)
        self._models[name] = (model, dict(config))

    def infer(self, name: str, inputs: Mapping[str, Array], **options: Any) -> Outputs:
        """One request as a client sends it: outputs by name, or FakeInferenceError with code and message.

        `options` as for `pb_utils.InferenceRequest`: request_id, correlation_id, timeout (µs), requested_output_names.
        """
        if self.is_decoupled(name):
            raise FakeInferenceError(FakeTritonError.UNSUPPORTED, "ModelInfer RPC doesn't support models with decoupled transaction policy")
        (outputs,) = self.infer_stream(name, inputs, **options)
        return outputs

    def infer_stream(self, name: str, inputs: Mapping[str, Array], **options: Any) -> list[Outputs]:
        """All answers of a decoupled model to one request; the first failure is raised."""
        tensors = [FakeTensor(tensor, array) for tensor, array in inputs.items()]
        return [_outputs(response) for response in self.run(name, [self.InferenceRequest(model_name=name, inputs=tensors, **options)])[0]]

    def infer_all(self, name: str, requests: list[Any]) -> list[Outputs]:
        """Several requests in one call of execute(); the first failure is raised."""
        return [_outputs(responses[0]) for responses in self.run(name, requests)]

    def is_decoupled(self, name: str) -> bool:
        _, config = self._models.get(name, (None, {}))
        return bool(config.get("model_transaction_policy", {}).get("decoupled"))

    def is_loaded(self, name: str) -> bool:
        return name in self._models

    def run(self, name: str, requests: list[Any]) -> list[list[FakeResponse]]:
        """Every response to each request: checked as the core does, executed, counted as the stub does."""
        if name not in self._models:
            return [[refused(ErrorCode.NOT_FOUND, f"Request for unknown model: '{name}' is not found")] for _ in requests]
        model, config = self._models[name]
        self.calls += [name] * len(requests)
        for request in requests:
            if refusal := problem(request, config):
                return [[refused(ErrorCode.INVALID_ARG, refusal)] for _ in requests]
        try:
            answered = _executed(model, requests)
        except Exception:
            # As in the stub: whatever leaves execute() fails the whole batch, traceback included.
            return [[refused(ErrorCode.INTERNAL, traceback.format_exc())] for _ in requests]
        if answered is None:
            responses = [request.sent() for request in requests]
        else:
            # Raised, not answered: in the server such a request hangs and blocks the shutdown.
            assert all(isinstance(one, FakeResponse) for one in answered), "execute() must return a response for each request"
            if len(answered) != len(requests):
                return [[refused(ErrorCode.INTERNAL, f"expected {len(requests)} responses, got {len(answered)}")] for _ in requests]
            responses = [[one] for one in answered]
        assert self.is_decoupled(name) or all(len(sent) == 1 for sent in responses), "a model that is not decoupled answers once"
        declared = {tensor["name"] for tensor in config.get("output", [])}
        return [[one.kept(declared & request.wanted(declared)) for one in sent] for sent, request in zip(responses, requests, strict=True)]


def _executed(model: Any, requests: list[Any]) -> Any:
    if not inspect.iscoroutinefunction(model.execute):
        return model.execute(requests)
    # In a thread, since a caller may have an event loop already.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, model.execute(requests)).result()


def _outputs(response: FakeResponse) -> Outputs:
    if response.has_error():
        raise FakeInferenceError(response.error().code(), response.error().message())
    return {tensor.name(): tensor.as_numpy() for tensor in response.output_tensors()}


class _Logger:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines

    def log_error(self, line: str) -> None:
        self._lines.append(line)

    log_info = log_warn = log_verbose = log = log_error
