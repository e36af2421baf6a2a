"""The models of the conformance run: the same classes are served by the fake and by the real server."""

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from vertical_engines.sdk import (
    AsyncTritonPythonModel,
    BadRequest,
    ErrorCode,
    RequestFailure,
    TritonFieldModel,
    TritonPythonModel,
    columns_of,
)
from vertical_engines.sdk.config import model_config_of
from vertical_engines.sdk.dtypes import NUMPY_DTYPES, TritonType
from vertical_engines.sdk.fields import NDArray


class Question(TritonFieldModel):
    text: Annotated[str, Field(max_length=20)]
    number: Annotated[int | None, TritonType("TYPE_INT32")] = None
    words: list[str] | None = None


class Answer(TritonFieldModel):
    text: str
    number: Annotated[int | None, TritonType("TYPE_INT32")] = None
    words: list[str] | None = None


class Numbers(TritonFieldModel):
    """An array of every numeric data type."""

    bool_: Annotated[NDArray, TritonType("TYPE_BOOL")]
    int8: Annotated[NDArray, TritonType("TYPE_INT8")]
    int16: Annotated[NDArray, TritonType("TYPE_INT16")]
    int32: Annotated[NDArray, TritonType("TYPE_INT32")]
    int64: Annotated[NDArray, TritonType("TYPE_INT64")]
    uint8: Annotated[NDArray, TritonType("TYPE_UINT8")]
    uint16: Annotated[NDArray, TritonType("TYPE_UINT16")]
    uint32: Annotated[NDArray, TritonType("TYPE_UINT32")]
    uint64: Annotated[NDArray, TritonType("TYPE_UINT64")]
    fp16: Annotated[NDArray, TritonType("TYPE_FP16")]
    fp32: Annotated[NDArray, TritonType("TYPE_FP32", dims=(-1, 2))]
    fp64: Annotated[NDArray, TritonType("TYPE_FP64")]


class Child(TritonPythonModel[Question, Answer]):
    """Repeats; certain texts are certain failures."""

    request_model, response_model = Question, Answer

    def handle(self, request: Question) -> Answer:
        match request.text:
            case "bad":
                raise BadRequest("text: bad")
            case "crash":
                raise ZeroDivisionError("by hand")
            case "exit":
                raise SystemExit(3)
            case "overflow":
                return Answer(text="", number=2**40)
            case "type":
                return request  # type: ignore[return-value]
        if request.text in ErrorCode.__members__:
            raise RequestFailure("as asked", code=ErrorCode[request.text])
        return Answer(text=request.text, number=request.number, words=request.words)


class Public(Child):
    """Failures as a client sees them."""

    public = True


class Caller(TritonPythonModel[Question, Answer]):
    """Asks the child."""

    request_model, response_model = Question, Answer
    public = True

    def handle(self, request: Question) -> Answer:
        return self._infer_model(request, Answer, {"missing": "nobody", "stream": "words"}.get(request.text, "child"))


class Threads(Caller):
    """Answers through senders."""

    concurrency = 4


class Both(AsyncTritonPythonModel[Question, Answer]):
    """Asks the child twice at the same time."""

    request_model, response_model = Question, Answer
    public = True

    async def handle(self, request: Question) -> Answer:
        answers = await asyncio.gather(*(self._infer_model_async(request, Answer, "child") for _ in range(2)))
        return Answer(text="".join(answer.text for answer in answers))


class Words(TritonPythonModel[Question, Answer]):
    """Decoupled: a word at a time."""

    request_model, response_model = Question, Answer

    def stream(self, request: Question) -> Iterator[Answer]:
        for number, word in enumerate(request.text.split()):
            if word == "bad":
                raise BadRequest("text: bad")
            yield Answer(text=word, number=number)


class Joiner(TritonPythonModel[Question, Answer]):
    """Reads a decoupled child to its end."""

    request_model, response_model = Question, Answer
    public = True

    def handle(self, request: Question) -> Answer:
        return Answer(text="+".join(answer.text for answer in self._infer_stream(request, Answer, "words")))


class Rows(Child):
    """Takes batches, a row at a time."""


class Columns(Child):
    """Takes batches as columns."""

    def handle_columns(self, columns: Any) -> Any:
        return columns_of(Answer)(text=columns.text, number=columns.number)


class BatchCaller(Caller):
    """Asks a child that takes batches."""

    def handle(self, request: Question) -> Answer:
        return self._infer_model(request, Answer, "rows", batch_inference=True)


class Gathering(Child):
    """Tells how many rows came together; served with dynamic batching."""

    def handle_batch(self, rows: list[Question]) -> list[Answer | RequestFailure]:
        return [BadRequest("text: bad") if row.text == "bad" else Answer(text=row.text, number=len(rows)) for row in rows]


ASKED, ENDED = "asked", "ended"
"""Files in the folder of `patient`: a request is being answered; why it came to no answer."""


class Patient(Caller):
    """Waits for its client to cancel, and calls the child after that."""

    def handle(self, request: Question) -> Answer:
        folder, deadline = Path(self.arguments["model_repository"]), time.monotonic() + 20
        (folder / ASKED).touch()
        while not self._request_context().cancelled() and time.monotonic() < deadline:
            time.sleep(0.005)
        try:
            return super().handle(request)
        except RequestFailure as failure:
            (folder / f"{ENDED}.new").write_text(failure.message)
            (folder / f"{ENDED}.new").rename(folder / ENDED)
            raise


class Salted(Question):
    cache_salt: Annotated[int | None, TritonType("TYPE_UINT64")] = None


class Flaky(TritonPythonModel[Salted, Answer]):
    """Behind Triton's response cache: fails the first time that it sees a text, and counts how often it was asked."""

    request_model, response_model = Salted, Answer

    def setup(self) -> None:
        self._seen: list[str] = []

    def handle(self, request: Salted) -> Answer:
        self._seen.append(request.text)
        if self._seen.count(request.text) == 1:
            raise RequestFailure("not yet", code=ErrorCode.UNAVAILABLE)
        return Answer(text=request.text, number=self._seen.count(request.text))


class FlakyCaller(Caller):
    """Calls the cached child."""

    def handle(self, request: Question) -> Answer:
        return self._infer_model(Salted(text=request.text, words=request.words), Answer, "flaky")


class Types(TritonPythonModel[Numbers, Numbers]):
    """Repeats arrays."""

    request_model, response_model = Numbers, Numbers

    def handle(self, request: Numbers) -> Numbers:
        return request


class Seen(TritonPythonModel[Question, Answer]):
    """Tells what it sees of a request's options; asked by `Passing`."""

    request_model, response_model = Question, Answer

    def execute(self, requests: list[Any]) -> list[Any] | None:
        self._request = requests[0]
        return super().execute(requests)

    def handle(self, request: Question) -> Answer:
        seen = self._request
        told = [seen.request_id(), seen.correlation_id(), 0 < seen.timeout() <= 30_000_000]
        return Answer(text=json.dumps(told))


class Passing(TritonPythonModel[Question, Answer]):
    """What a child inherits."""

    request_model, response_model = Question, Answer

    def handle(self, request: Question) -> Answer:
        return self._infer_model(request, Answer, "seen")


class Raw:
    """A model without the SDK, with the mistakes that Triton lets through or answers itself."""

    def execute(self, requests: list[Any]) -> list[Any]:
        import numpy as np
        import triton_python_backend_utils as pb_utils

        (wish,) = [pb_utils.get_input_tensor_by_name(request, "text").as_numpy().item().decode() for request in requests]
        if wish == "few":
            return []
        outputs = {
            "type": [("text", np.array([1.5]))],
            "shape": [("text", np.array([["a", "b"]], object))],
            "undeclared": [("text", np.array(["a"], object)), ("more", np.array([1]))],
            "none": [("text", np.array([None], object))],
        }.get(wish, [])
        return [pb_utils.InferenceResponse(output_tensors=[pb_utils.Tensor(*one) for one in outputs]) for _ in requests]


MODELS: dict[str, type[Any]] = {
    "child": Child,
    "public": Public,
    "caller": Caller,
    "threads": Threads,
    "both": Both,
    "words": Words,
    "joiner": Joiner,
    "rows": Rows,
    "columns": Columns,
    "batch_caller": BatchCaller,
    "gathering": Gathering,
    "patient": Patient,
    "flaky": Flaky,
    "flaky_caller": FlakyCaller,
    "types": Types,
    "seen": Seen,
    "passing": Passing,
    "raw": Raw,
}


def config_of(name: str) -> dict[str, Any]:
    """The configuration of one of MODELS, from its schemas."""
    model = MODELS[name]
    request, response = getattr(model, "request_model", Question), getattr(model, "response_model", Answer)
    batch = BATCH if name in ("rows", "columns", "gathering") else 0
    config = model_config_of(name, request=request.plan(), response=response.plan(), decoupled=name == "words", max_batch_size=batch)
    return {**config, **EXTRAS.get(name, {})}


EXTRAS: dict[str, dict[str, Any]] = {
    "gathering": {"dynamic_batching": {"preferred_batch_size": [4], "max_queue_delay_microseconds": 2_000_000}},
    "flaky": {"response_cache": {"enable": True}},
}

BATCH = 4

NUMERIC_TYPES = {field.tensor: NUMPY_DTYPES[field.data_type] for field in Numbers.plan().fields}
