"""The fake server: loads models, checks requests, runs them, and lets a model call another one."""

import json
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from vertical_engines.sdk.dtypes import Array
from vertical_engines.sdk.errors import ErrorCode
from vertical_engines.sdk.testing.checks import problem
from vertical_engines.sdk.testing.values import FakeInferenceError, FakeRequest, FakeResponse, FakeTensor, FakeTritonError, refused


class FakePbUtils(ModuleType):
    """Stands in for the server and its stub: `with FakePbUtils() as triton: triton.load(...); triton.infer(...)`.

    What the server checks is checked here with the server's words; what it lets through, such as an output of the
    wrong type, passes here too. `log` holds what models logged.
    """

    def __init__(self) -> None:
        super().__init__("triton_python_backend_utils")
        self._models: dict[str, tuple[Any, dict[str, Any]]] = {}
        self.log: list[str] = []
        self.calls: list[str] = []
        self.Tensor = FakeTensor
        self.TritonError = FakeTritonError
        self.InferenceResponse = FakeResponse
        self.Logger = _Logger(self.log)
        self.TRITONSERVER_RESPONSE_COMPLETE_FINAL = 1
        self.InferenceRequest = type("InferenceRequest", (FakeRequest,), {"server": self})

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

    def infer(self, name: str, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """One request as a client sends it: outputs by name, or FakeInferenceError with code and message."""
        tensors = [FakeTensor(tensor, array) for tensor, array in inputs.items()]
        return self.infer_all(name, [self.InferenceRequest(model_name=name, inputs=tensors)])[0]

    def infer_all(self, name: str, requests: list[Any]) -> list[dict[str, Array]]:
        """Several requests in one call of execute(); the first failure is raised."""
        responses = self.run(name, requests)
        for response in responses:
            if response.has_error():
                raise FakeInferenceError(response.error().code(), response.error().message())
        return [{tensor.name(): tensor.as_numpy() for tensor in response.output_tensors()} for response in responses]

    def run(self, name: str, requests: list[Any]) -> list["FakeResponse"]:
        """Check requests as the core does, execute, check the number of answers as the stub does."""
        if name not in self._models:
            return [refused(ErrorCode.NOT_FOUND, f"Request for unknown model: '{name}' is not found") for _ in requests]
        model, config = self._models[name]
        self.calls += [name] * len(requests)
        for request in requests:
            if refusal := problem(request, config):
                return [refused(ErrorCode.INVALID_ARG, refusal) for _ in requests]
        try:
            responses = model.execute(requests)
        except Exception:
            # As in the stub: whatever leaves execute() fails the whole batch, traceback included.
            return [refused(ErrorCode.INTERNAL, traceback.format_exc()) for _ in requests]
        if responses is None:
            responses = [request.sent() for request in requests]
        # Raised, not answered: in the server such a request hangs and blocks the shutdown.
        assert all(isinstance(one, FakeResponse) for one in responses), "execute() must return a response for each request"
        if len(responses) != len(requests):
            return [refused(ErrorCode.INTERNAL, f"expected {len(requests)} responses, got {len(responses)}") for _ in requests]
        declared = {tensor["name"] for tensor in config.get("output", [])}
        return [response.kept(declared & request.wanted(declared)) for response, request in zip(responses, requests, strict=True)]


class _Logger:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines

    def log_error(self, line: str) -> None:
        self._lines.append(line)

    log_info = log_warn = log_verbose = log_error
