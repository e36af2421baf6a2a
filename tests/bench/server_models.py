"""The models of the benchmark in a server: one entry model and two children, hand-written and with the SDK."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.bench.messages import CANDIDATES, DIMENSION, Found, Query, Reply, Vector
from vertical_engines.sdk import TritonFieldModel, TritonPythonModel
from vertical_engines.sdk.config import model_config_of

NAMES = [f"place {number}" for number in range(CANDIDATES)]


class SdkEncoder(TritonPythonModel[Query, Vector]):
    request_model, response_model = Query, Vector

    def handle(self, request: Query) -> Vector:
        return Vector(vector=np.full(DIMENSION, len(request.query), np.float32), limit=request.limit)


class SdkSearch(TritonPythonModel[Vector, Found]):
    request_model, response_model = Vector, Found

    def handle(self, request: Vector) -> Found:
        return Found(names=NAMES[: request.limit], scores=request.vector[:CANDIDATES])


class SdkEntry(TritonPythonModel[Query, Reply]):
    request_model, response_model = Query, Reply
    public = True

    def handle(self, request: Query) -> Reply:
        encoded = self._infer_model(request, Vector, "sdk_encoder")
        found = self._infer_model(encoded, Found, "sdk_search")
        return Reply(name=request.query, score=float(found.scores[0]), names=found.names)


class _Hand:
    def initialize(self, args: dict[str, str]) -> None:
        import triton_python_backend_utils as pb_utils

        self.pb: Any = pb_utils

    def execute(self, requests: list[Any]) -> list[Any]:
        return [self.answer(request, self.pb.get_input_tensor_by_name, self.pb.Tensor) for request in requests]

    def answer(self, request: Any, take: Callable[[Any, str], Any], tensor: Any) -> Any:
        raise NotImplementedError


class HandEncoder(_Hand):
    def answer(self, request: Any, take: Callable[[Any, str], Any], tensor: Any) -> Any:
        query, limit = take(request, "query").as_numpy()[0].decode(), int(take(request, "limit").as_numpy()[0])
        vector = np.full(DIMENSION, len(query), np.float32)
        return self.pb.InferenceResponse([tensor("vector", vector), tensor("limit", np.array([limit], np.int32))])


class HandSearch(_Hand):
    def answer(self, request: Any, take: Callable[[Any, str], Any], tensor: Any) -> Any:
        vector, limit = take(request, "vector").as_numpy(), int(take(request, "limit").as_numpy()[0])
        names = np.array(NAMES[:limit], dtype=object)
        return self.pb.InferenceResponse([tensor("names", names), tensor("scores", vector[:CANDIDATES])])


class HandEntry(_Hand):
    def answer(self, request: Any, take: Callable[[Any, str], Any], tensor: Any) -> Any:
        out = self.pb.get_output_tensor_by_name
        query, region = take(request, "query").as_numpy()[0].decode(), take(request, "region").as_numpy()[0].decode()
        limit, threshold = int(take(request, "limit").as_numpy()[0]), float(take(request, "threshold").as_numpy()[0])
        sent = [
            tensor("query", np.array([query], dtype=object)),
            tensor("region", np.array([region], dtype=object)),
            tensor("limit", np.array([limit], np.int32)),
            tensor("threshold", np.array([threshold], np.float32)),
        ]
        encoded = self.call("hand_encoder", sent, ["vector", "limit"])
        vector, limit = out(encoded, "vector").as_numpy(), int(out(encoded, "limit").as_numpy()[0])
        sent = [tensor("vector", vector), tensor("limit", np.array([limit], np.int32))]
        found = self.call("hand_search", sent, ["names", "scores"])
        names = [name.decode() for name in out(found, "names").as_numpy()]
        score = np.array([out(found, "scores").as_numpy()[0]], np.float32)
        reply = [tensor("name", np.array([query], dtype=object)), tensor("score", score), tensor("names", np.array(names, dtype=object))]
        return self.pb.InferenceResponse(reply)

    def call(self, model: str, inputs: list[Any], outputs: list[str]) -> Any:
        response = self.pb.InferenceRequest(model_name=model, inputs=inputs, requested_output_names=outputs).exec()
        if response.has_error():
            raise self.pb.TritonModelException(response.error().message())
        return response


_SCHEMAS: dict[str, tuple[type[TritonFieldModel], type[TritonFieldModel]]] = {
    "entry": (Query, Reply),
    "encoder": (Query, Vector),
    "search": (Vector, Found),
}

MODELS: dict[str, type[Any]] = {
    "sdk_entry": SdkEntry,
    "sdk_encoder": SdkEncoder,
    "sdk_search": SdkSearch,
    "hand_entry": HandEntry,
    "hand_encoder": HandEncoder,
    "hand_search": HandSearch,
}


def config_of(name: str) -> dict[str, Any]:
    """The same configuration for both styles."""
    request, response = _SCHEMAS[name.partition("_")[2]]
    return model_config_of(name, request=request.plan(), response=response.plan())
