"""Child calls: what a child inherits, deadlines, asyncio, decoupled children, and the published names."""

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Annotated, Any, List, Optional  # noqa: UP035 - the published example's own imports

import numpy as np
import pytest
from pydantic import Field, model_validator

from vertical_engines.sdk import (
    AsyncTritonPythonModel,
    BadRequest,
    ErrorCode,
    RequestFailure,
    TritonFieldModel,
    TritonPythonModel,
    TritonType,
    convert_pb_tensors_to_pydantic,
    convert_pydantic_to_pb_tensors,
    get_field_names,
)
from vertical_engines.sdk.config import FAILURE_OUTPUT
from vertical_engines.sdk.testing import FakeInferenceError, FakePbUtils


class Text(TritonFieldModel):
    text: str


class Piece(TritonFieldModel):
    text: str
    number: Annotated[int, TritonType("TYPE_INT32")] = 0


def config(name: str, *, decoupled: bool = False, inputs: tuple[str, ...] = ("text",)) -> dict[str, Any]:
    number = {"name": "number", "data_type": "TYPE_INT32", "dims": [1]}
    return {
        "name": name,
        "input": [{"name": one, "data_type": "TYPE_STRING", "dims": [1]} for one in inputs],
        "output": [{"name": "text", "data_type": "TYPE_STRING", "dims": [1]}, number, *([FAILURE_OUTPUT] if decoupled else [])],
        "model_transaction_policy": {"decoupled": decoupled},
    }


class Child(TritonPythonModel[Text, Piece]):
    request_model, response_model = Text, Piece

    def setup(self) -> None:
        self.seen: list[Any] = []

    def execute(self, requests: list[Any]) -> list[Any] | None:
        self.seen += requests
        return super().execute(requests)

    def handle(self, request: Text) -> Piece:
        if request.text == "bad":
            raise BadRequest("text: bad")
        return Piece(text=request.text[::-1])


class Words(TritonPythonModel[Text, Piece]):
    """Decoupled: a word at a time."""

    request_model, response_model = Text, Piece

    def stream(self, request: Text) -> Iterator[Piece]:
        for number, word in enumerate(request.text.split()):
            if word == "bad":
                raise BadRequest("text: bad")
            yield Piece(text=word, number=number)


class Caller(TritonPythonModel[Text, Piece]):
    request_model, response_model = Text, Piece
    public = True
    pause = 0.0
    options: dict[str, Any] = {}  # noqa: RUF012 - set by tests

    def handle(self, request: Text) -> Piece:
        time.sleep(self.pause)
        return self._infer_model(request, Piece, "child", **self.options)


class Joiner(TritonPythonModel[Text, Piece]):
    request_model, response_model = Text, Piece
    public = True

    def handle(self, request: Text) -> Piece:
        return Piece(text="+".join(piece.text for piece in self._infer_stream(request, Piece, "words")))


class Both(AsyncTritonPythonModel[Text, Piece]):
    request_model, response_model = Text, Piece
    public = True

    async def handle(self, request: Text) -> Piece:
        if request.text == "crash":
            raise ZeroDivisionError("by hand")
        first, second = await asyncio.gather(
            self._infer_model_async(request, Piece, "child"), self._infer_model_async(request, Piece, "child")
        )
        return Piece(text=f"{first.text}{second.text}")


@pytest.fixture
def triton() -> Iterator[FakePbUtils]:
    with FakePbUtils() as fake:
        yield fake


@pytest.fixture
def child(triton: FakePbUtils) -> Child:
    model = Child()
    triton.load(model, config("child"))
    return model


def text(value: str) -> dict[str, Any]:
    return {"text": np.array([value], object)}


def request(triton: FakePbUtils, model: str, value: str, **options: Any) -> Any:
    return triton.InferenceRequest(model_name=model, inputs=[triton.Tensor("text", text(value)["text"])], **options)


def test_a_child_inherits_ids_trace_and_what_is_left_of_the_timeout(triton: FakePbUtils, child: Child) -> None:
    triton.load(Caller(), config("caller"))
    trace = object()
    triton.infer("caller", text("ab"), request_id="r-1", correlation_id=7, timeout=30_000_000, trace=trace)
    (seen,) = child.seen
    assert (seen.request_id(), seen.correlation_id(), seen.trace()) == ("r-1", 7, trace)
    assert 25_000_000 < seen.timeout() < 30_000_000


def test_what_the_caller_says_wins_over_what_is_inherited(triton: FakePbUtils, child: Child) -> None:
    caller = Caller()
    caller.options = {"request_id": "mine", "timeout": 5}
    triton.load(caller, config("caller"))
    triton.infer("caller", text("ab"), request_id="theirs")
    assert (child.seen[0].request_id(), child.seen[0].timeout()) == ("mine", 5)


def test_past_the_deadline_no_child_is_called(triton: FakePbUtils, child: Child) -> None:
    caller = Caller()
    caller.pause = 0.02
    triton.load(caller, config("caller"))
    with pytest.raises(FakeInferenceError, match="the request's timeout was over before child was called") as caught:
        triton.infer("caller", text("ab"), timeout=1000)
    assert caught.value.code is ErrorCode.UNAVAILABLE
    assert child.seen == []


def test_an_async_model_calls_children_at_the_same_time(triton: FakePbUtils) -> None:
    barrier = threading.Barrier(4)

    class Meeting(Child):
        def handle(self, request: Text) -> Piece:
            barrier.wait(30)
            return super().handle(request)

    triton.load(Meeting(), config("child"))
    triton.load(Both(), config("both"))
    responses = triton.infer_all("both", [request(triton, "both", "ab"), request(triton, "both", "cd")])
    assert [response["text"].item() for response in responses] == [b"baba", b"dcdc"]


def test_one_failure_of_an_async_batch_stays_alone(triton: FakePbUtils, child: Child) -> None:
    triton.load(Both(), config("both"))
    responses = triton.run("both", [request(triton, "both", word) for word in ("ab", "crash", "bad")])
    told = [one.error().message() if one.has_error() else "" for (one,) in responses]
    assert told == ["", "ZeroDivisionError: by hand", "child: text: bad"]


def test_an_async_child_call_ends_at_the_deadline(triton: FakePbUtils) -> None:
    release = threading.Event()

    class Slow(Child):
        def handle(self, request: Text) -> Piece:
            release.wait(30)
            return super().handle(request)

    class Impatient(Both):
        async def handle(self, request: Text) -> Piece:
            try:
                return await self._infer_model_async(request, Piece, "child")
            finally:
                release.set()

    triton.load(Slow(), config("child"))
    triton.load(Impatient(), config("impatient"))
    with pytest.raises(FakeInferenceError, match="child: no answer before the request's timeout") as caught:
        triton.infer("impatient", text("ab"), timeout=50_000)
    assert caught.value.code is ErrorCode.UNAVAILABLE


def test_a_decoupled_child_is_read_answer_by_answer(triton: FakePbUtils) -> None:
    triton.load(Words(), config("words", decoupled=True))
    triton.load(Joiner(), config("joiner"))
    assert triton.infer("joiner", text("a b c"))["text"].item() == b"a+b+c"
    assert [one["number"].item() for one in triton.infer_stream("words", text("a b c"))] == [0, 1, 2]


def test_an_error_in_the_middle_of_a_stream_keeps_its_code(triton: FakePbUtils) -> None:
    triton.load(Words(), config("words", decoupled=True))
    triton.load(Joiner(), config("joiner"))
    with pytest.raises(FakeInferenceError, match="words: text: bad") as caught:
        triton.infer("joiner", text("a bad c"))
    assert caught.value.code is ErrorCode.INVALID_ARG


def test_a_cancelled_stream_ends(triton: FakePbUtils) -> None:
    parent: Any = None

    class Cancelling(Words):
        def stream(self, request: Text) -> Iterator[Piece]:
            yield Piece(text="a")
            parent.cancelled = True
            yield Piece(text="b")

    triton.load(Words(), config("words", decoupled=True))
    triton.load(Cancelling(), config("cancelling", decoupled=True))
    parent = request(triton, "cancelling", "x")
    (responses,) = triton.run("cancelling", [parent])
    assert len(responses) == 2


def test_a_decoupled_child_needs_the_streaming_call(triton: FakePbUtils) -> None:
    triton.load(Words(), config("child", decoupled=True))
    triton.load(Caller(), config("caller"))
    with pytest.raises(FakeInferenceError, match="decoupled"):
        triton.infer("caller", text("a"))


def test_an_async_model_may_not_be_decoupled(triton: FakePbUtils) -> None:
    with pytest.raises(ValueError, match="needs TritonPythonModel"):
        triton.load(Both(), config("both", decoupled=True))


def test_an_invalid_object_made_by_a_handler_shows_no_values(triton: FakePbUtils) -> None:
    class Wrong(Child):
        def handle(self, request: Text) -> Piece:
            return Piece(text=request.text, number="secret")  # type: ignore[arg-type]

    triton.load(Wrong(), config("wrong"))
    with pytest.raises(FakeInferenceError) as caught:
        triton.infer("wrong", text("a"))
    assert caught.value.message.startswith("[INTERNAL] ValidationError: number: Input should be a valid integer")
    assert "secret" not in caught.value.message


class BlsRequest(TritonFieldModel):
    """The published schema as written, with pydantic 2's validator."""

    name: Optional[str] = Field(None, json_schema_extra={"data_type": "TYPE_STRING"})  # noqa: UP045
    subname: Optional[str] = Field(None, json_schema_extra={"data_type": "TYPE_STRING"})  # noqa: UP045
    biznum: Optional[str] = Field(None, json_schema_extra={"data_type": "TYPE_STRING"})  # noqa: UP045
    address: Optional[List[str]] = Field(None, json_schema_extra={"data_type": "TYPE_STRING"})  # noqa: UP006, UP045
    tel: Optional[List[str]] = Field(None, json_schema_extra={"data_type": "TYPE_STRING"})  # noqa: UP006, UP045

    @model_validator(mode="before")
    @classmethod
    def check_all_fields_empty(cls, values: dict[str, Any]) -> dict[str, Any]:
        if not any(bool(value) for value in values.values()):
            raise ValueError("All fields cannot be empty")
        return values


def test_the_published_names_convert_there_and_back(triton: FakePbUtils) -> None:
    original = BlsRequest(name="é", address=["a", "b"])
    tensors = convert_pydantic_to_pb_tensors(original)
    assert [tensor.name() for tensor in tensors] == ["name", "address"]
    assert convert_pb_tensors_to_pydantic(tensors, BlsRequest) == original
    assert get_field_names(BlsRequest) == BlsRequest.get_field_names() == ["name", "subname", "biznum", "address", "tel"]


def test_a_row_in_front_is_put_there_and_taken_away(triton: FakePbUtils) -> None:
    original = BlsRequest(name="x", tel=["1", "2", "3"])
    tensors = convert_pydantic_to_pb_tensors(original, batch_inference=True)
    assert [tensor.shape() for tensor in tensors] == [[1, 1], [1, 3]]
    assert convert_pb_tensors_to_pydantic(tensors, BlsRequest, batch_inference=True) == original
    with pytest.raises(BadRequest, match=r"name: expected one row, got shape \[2\]"):
        convert_pb_tensors_to_pydantic([triton.Tensor("name", np.array(["a", "b"], object))], BlsRequest, batch_inference=True)


def test_the_published_check_refuses_an_empty_request(triton: FakePbUtils) -> None:
    with pytest.raises(BadRequest, match=r"^All fields cannot be empty$"):
        convert_pb_tensors_to_pydantic([], BlsRequest)


def test_a_response_that_is_an_error_keeps_code_and_message(triton: FakePbUtils) -> None:
    response = triton.InferenceResponse(error=triton.TritonError("[NOT_FOUND] no such place", triton.TritonError.INTERNAL))
    with pytest.raises(RequestFailure, match=r"^no such place$") as caught:
        convert_pb_tensors_to_pydantic(response, BlsRequest)
    assert caught.value.code is ErrorCode.NOT_FOUND


def test_a_decoupled_model_needs_the_output_for_late_failures(triton: FakePbUtils) -> None:
    without = {**config("words", decoupled=True), "output": config("words")["output"]}
    with pytest.raises(ValueError, match="needs the output stream_failure"):
        triton.load(Words(), without)


def test_a_failure_before_the_first_answer_of_a_stream_is_a_plain_error(triton: FakePbUtils) -> None:
    triton.load(Words(), config("words", decoupled=True))
    with pytest.raises(FakeInferenceError, match=r"^\[INVALID_ARG\] text: bad$"):
        triton.infer_stream("words", text("bad"))
