"""The model base class in the fake server: loading, errors per request, children, and the salt of cached children."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from pydantic import Field

import vertical_engines
from vertical_engines.sdk import BadRequest, ErrorCode, RequestFailure, TritonFieldModel, TritonPythonModel, TritonType
from vertical_engines.sdk.testing import FakeInferenceError, FakePbUtils, FakeResponse


class Question(TritonFieldModel):
    text: Annotated[str, Field(max_length=20)]
    cache_salt: Annotated[int | None, TritonType("TYPE_UINT64")] = None


class Answer(TritonFieldModel):
    text: str
    length: Annotated[int, TritonType("TYPE_INT8")] = 0


class Child(TritonPythonModel[Question, Answer]):
    request_model, response_model = Question, Answer

    def setup(self) -> None:
        self.salts: list[int | None] = []

    def handle(self, request: Question) -> Answer:
        self.salts.append(request.cache_salt)
        match request.text:
            case "bad":
                raise BadRequest("text: bad")
            case "busy":
                raise RequestFailure("no room", code=ErrorCode.UNAVAILABLE)
            case "crash":
                raise ZeroDivisionError("secret/path.py")
            case "overflow":
                return Answer(text="", length=1000)
            case "other":
                return Question(text="not an answer")  # type: ignore[return-value]
        return Answer(text=request.text.upper(), length=len(request.text))


class Parent(TritonPythonModel[Question, Answer]):
    request_model, response_model = Question, Answer
    public = True

    def handle(self, request: Question) -> Answer:
        return self._infer_model(Question(text=request.text), Answer, "child")


class Hollow:
    """A child behind a cache that kept a failure: no error and no outputs, until the salt changes."""

    def __init__(self, *, empty: int) -> None:
        self.empty, self.salts = empty, []  # type: int, list[int]

    def execute(self, requests: list[Any]) -> list[Any]:
        salts = [tensor.as_numpy().item() for tensor in requests[0].inputs() if tensor.name() == "cache_salt"]
        self.salts += salts
        if len(self.salts) <= self.empty:
            return [FakeResponse([])]
        triton = sys.modules["triton_python_backend_utils"]
        tensors = {"text": np.array(["full"], object), "length": np.array([4], np.int8)}
        return [FakeResponse([triton.Tensor(name, array) for name, array in tensors.items()])]


def config(name: str, **changes: Any) -> dict[str, Any]:
    inputs = [
        {"name": "text", "data_type": "TYPE_STRING", "dims": ["1"]},
        {"name": "cache_salt", "data_type": "TYPE_UINT64", "dims": ["1"], "optional": True},
    ]
    outputs = [{"name": "text", "data_type": "TYPE_STRING", "dims": ["1"]}, {"name": "length", "data_type": "TYPE_INT8", "dims": ["1"]}]
    return {"name": name, "input": inputs, "output": outputs, **changes}


def text(value: str | bytes) -> dict[str, Any]:
    return {"text": np.array([value], object)}


@pytest.fixture
def triton() -> Iterator[FakePbUtils]:
    with FakePbUtils() as fake:
        yield fake


@pytest.fixture
def graph(triton: FakePbUtils) -> FakePbUtils:
    triton.load(Child(), config("child"))
    triton.load(Parent(), config("parent"))
    return triton


def failure(triton: FakePbUtils, model: str, inputs: dict[str, Any]) -> tuple[ErrorCode, str]:
    with pytest.raises(FakeInferenceError) as caught:
        triton.infer(model, inputs)
    return caught.value.code, caught.value.message


def test_the_sdk_can_be_imported_without_triton() -> None:
    # In a process of its own: a module that is loaded twice here would be two classes for the tests that follow.
    root = str(Path(vertical_engines.__file__).parents[1])
    code = f"import sys; sys.path.insert(0, {root!r}); import vertical_engines.sdk; assert 'triton_python_backend_utils' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_request_passes_through_parent_and_child(graph: FakePbUtils) -> None:
    answer = graph.infer("parent", text("hello"))
    assert (answer["text"].tolist(), answer["length"].tolist()) == ([b"HELLO"], [5])
    assert answer["length"].dtype == np.int8


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        ("bad", ErrorCode.INVALID_ARG, "child: text: bad"),
        ("busy", ErrorCode.UNAVAILABLE, "child: no room"),
        ("crash", ErrorCode.INTERNAL, "child: ZeroDivisionError: secret/path.py"),
        ("overflow", ErrorCode.INTERNAL, "child: response length: 1000 is out of the range of TYPE_INT8"),
        ("other", ErrorCode.INTERNAL, "child: TypeError: handle() returned Question, not Answer"),
        ("far too long for the field", ErrorCode.INVALID_ARG, "text: String should have at most 20 characters"),
        (b"\xff", ErrorCode.INVALID_ARG, "text: not valid UTF-8"),
    ],
)
def test_a_failure_keeps_its_code_through_bls(graph: FakePbUtils, asked: str, code: ErrorCode, message: str) -> None:
    assert failure(graph, "parent", text(asked)) == (code, message)


def test_an_internal_model_carries_the_code_in_the_message(graph: FakePbUtils) -> None:
    assert failure(graph, "child", text("bad")) == (ErrorCode.INVALID_ARG, "[INVALID_ARG] text: bad")


def test_the_traceback_goes_to_the_log(graph: FakePbUtils) -> None:
    failure(graph, "child", text("crash"))
    assert any("Traceback" in line and "ZeroDivisionError" in line for line in graph.log)


def test_one_bad_request_leaves_the_others_of_its_batch_alone(graph: FakePbUtils) -> None:
    requests = [
        graph.InferenceRequest(model_name="parent", inputs=[graph.Tensor(*next(iter(text(word).items())))])
        for word in ("one", "bad", "crash", "two")
    ]
    responses = graph.run("parent", requests)
    assert [response.has_error() for (response,) in responses] == [False, True, True, False]


def test_a_required_input_that_is_missing_is_named(graph: FakePbUtils) -> None:
    # Triton looks at the number of inputs only, so the optional one may stand in for the required one.
    code, message = failure(graph, "parent", {"cache_salt": np.array([1], np.uint64)})
    assert (code, message) == (ErrorCode.INVALID_ARG, "text: Field required")


def test_a_cancelled_request_calls_no_child(graph: FakePbUtils, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vertical_engines.sdk.context.CANCELLATION_INTERVAL", 0)
    request = graph.InferenceRequest(model_name="parent", inputs=[graph.Tensor("text", np.array(["hello"], object))])
    request.cancelled = True
    ((response,),) = graph.run("parent", [request])
    assert response.error().code() == graph.TritonError.CANCELLED
    assert graph.calls == ["parent"]


def test_an_unknown_child_is_an_error_of_that_child(triton: FakePbUtils) -> None:
    triton.load(Parent(), config("parent"))
    code, message = failure(triton, "parent", text("x"))
    assert code is ErrorCode.INTERNAL
    assert message.startswith("child: ")


def test_equal_requests_have_equal_salts(graph: FakePbUtils) -> None:
    child = Child()
    graph.load(child, config("child"))
    graph.infer("parent", text("a"))
    graph.infer("parent", text("a"))
    assert child.salts[0] is not None
    assert len(set(child.salts)) == 1


def test_an_empty_answer_is_asked_again_past_the_cache_and_the_new_epoch_stays(triton: FakePbUtils) -> None:
    child = Hollow(empty=1)
    triton.load(child, config("child"))
    triton.load(Parent(), config("parent"))
    assert triton.infer("parent", text("a"))["text"].tolist() == [b"full"]
    triton.infer("parent", text("a"))
    first, second, third = child.salts
    assert first != second == third


def test_a_child_that_stays_empty_is_unavailable(triton: FakePbUtils) -> None:
    child = Hollow(empty=99)
    triton.load(child, config("child"))
    triton.load(Parent(), config("parent"))
    code, message = failure(triton, "parent", text("a"))
    assert code is ErrorCode.UNAVAILABLE
    assert message.startswith("child: answered without text")
    assert len(child.salts) == 2


drifted = [
    ({"input": [{"name": "text", "data_type": "TYPE_INT32", "dims": [1]}]}, "input text: config.pbtxt says data_type TYPE_INT32"),
    ({"input": [{"name": "text", "data_type": "TYPE_STRING", "dims": [-1]}]}, r"input text: config.pbtxt says dims \[-1\]"),
    (
        {"input": [{"name": "text", "data_type": "TYPE_STRING", "dims": [1], "optional": True}]},
        "input text: config.pbtxt says optional True",
    ),
    ({"input": []}, "input text is missing"),
    ({"output": [{"name": "text", "data_type": "TYPE_STRING", "dims": [1]}]}, "output length is missing"),
    (
        {"output": [*config("x")["output"], {"name": "more", "data_type": "TYPE_BOOL", "dims": [1]}]},
        "output more is in config.pbtxt but not",
    ),
]


@pytest.mark.parametrize(("changes", "message"), drifted)
def test_a_configuration_that_differs_from_the_schema_does_not_load(triton: FakePbUtils, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        triton.load(Child(), config("child", **changes))


def test_the_response_cache_is_refused_where_it_would_lie(triton: FakePbUtils) -> None:
    cached = {"response_cache": {"enable": True}}
    triton.load(Child(), config("child", **cached))
    with pytest.raises(ValueError, match="no response cache on a model that clients call"):
        triton.load(Parent(), config("parent", **cached))
    with pytest.raises(ValueError, match="does not work with a decoupled model"):
        triton.load(Child(), config("child", model_transaction_policy={"decoupled": True}, **cached))


class Plain(TritonPythonModel[Answer, Answer]):
    request_model, response_model = Answer, Answer


def test_the_response_cache_needs_a_salt(triton: FakePbUtils) -> None:
    inputs = [
        {"name": "text", "data_type": "TYPE_STRING", "dims": [1]},
        {"name": "length", "data_type": "TYPE_INT8", "dims": [1], "optional": True},
    ]
    with pytest.raises(ValueError, match="needs the optional input cache_salt"):
        triton.load(Plain(), config("plain", input=inputs, response_cache={"enable": True}))


def test_a_model_without_handle_says_so(triton: FakePbUtils) -> None:
    inputs = [{**tensor, "optional": tensor["name"] == "length"} for tensor in config("x")["output"]]
    triton.load(Plain(), config("plain", input=inputs))
    assert failure(triton, "plain", text("a")) == (ErrorCode.INTERNAL, "[INTERNAL] NotImplementedError: Plain does not define handle()")


class Together(Parent):
    """Answers only once three requests are inside at the same time."""

    concurrency = 3

    def setup(self) -> None:
        self.barrier = threading.Barrier(3)

    def handle(self, request: Question) -> Answer:
        self.barrier.wait(30)
        if request.text == "exit":
            sys.exit(1)
        return super().handle(request)


def test_one_instance_answers_several_requests_at_once(graph: FakePbUtils) -> None:
    model = Together()
    graph.load(model, config("together"))
    words = ["one", "bad", "exit", "four", "five", "six"]
    requests = [graph.InferenceRequest(model_name="together", inputs=[graph.Tensor("text", np.array([word], object))]) for word in words]
    responses = graph.run("together", requests)
    told = [
        response.error().message() if response.has_error() else response.output_tensors()[0].as_numpy().item() for (response,) in responses
    ]
    assert told == [b"ONE", "child: text: bad", "SystemExit: 1", b"FOUR", b"FIVE", b"SIX"]
    model.finalize()
