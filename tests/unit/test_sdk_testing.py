"""The fake server refuses what the real one refuses, and lets through what the real one lets through."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from vertical_engines.sdk import ErrorCode
from vertical_engines.sdk.testing import FakeInferenceError, FakePbUtils, FakeResponse

CONFIG = {
    "name": "m",
    "input": [
        {"name": "text", "data_type": "TYPE_STRING", "dims": [1]},
        {"name": "pair", "data_type": "TYPE_FP32", "dims": [-1, 2], "optional": True},
    ],
    "output": [{"name": "out", "data_type": "TYPE_INT32", "dims": [1]}],
}


class Model:
    def __init__(self, answer: Callable[[list[Any]], Any]) -> None:
        self.execute = answer


@pytest.fixture
def triton() -> Iterator[FakePbUtils]:
    with FakePbUtils() as fake:
        yield fake


def answering(triton: FakePbUtils, **outputs: Any) -> Model:
    return Model(lambda requests: [FakeResponse([triton.Tensor(*one) for one in outputs.items()]) for _ in requests])


TEXT = np.array(["a"], object)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "expected number of inputs between 1 and 2 but got 0 inputs for model 'm'"),
        ({"other": TEXT}, "unexpected inference input 'other' for model 'm'"),
        ({"text": np.array([1.0])}, "inference input 'text' data-type is 'FP64', but model 'm' expects 'BYTES'"),
        ({"text": np.array(["a", "b"], object)}, r"unexpected shape for input 'text' for model 'm'. Expected \[1\], got \[2\]"),
        ({"text": TEXT, "pair": np.zeros((3, 3), np.float32)}, r"Expected \[-1,2\], got \[3,3\]"),
    ],
)
def test_the_core_refuses_a_request(triton: FakePbUtils, inputs: dict[str, Any], message: str) -> None:
    triton.load(answering(triton, out=np.array([1], np.int32)), CONFIG)
    with pytest.raises(FakeInferenceError, match=message) as caught:
        triton.infer("m", inputs)
    assert caught.value.code is ErrorCode.INVALID_ARG


def test_text_arrives_as_bytes(triton: FakePbUtils) -> None:
    seen: list[Any] = []

    def execute(requests: list[Any]) -> list[Any]:
        seen.extend(tensor.as_numpy().tolist() for tensor in requests[0].inputs())
        return [FakeResponse([])]

    triton.load(Model(execute), CONFIG)
    triton.infer("m", {"text": np.array(["é"], object)})
    assert seen == [["é".encode()]]


def test_a_wrong_output_passes_and_an_undeclared_one_vanishes(triton: FakePbUtils) -> None:
    triton.load(answering(triton, out=np.array([1.5]), more=TEXT), CONFIG)
    assert {name: array.tolist() for name, array in triton.infer("m", {"text": TEXT}).items()} == {"out": [1.5]}


def test_an_exception_fails_the_batch_with_its_traceback(triton: FakePbUtils) -> None:
    def execute(requests: list[Any]) -> list[Any]:
        raise KeyError("x")

    triton.load(Model(execute), CONFIG)
    with pytest.raises(FakeInferenceError, match="Traceback"):
        triton.infer("m", {"text": TEXT})


def test_too_few_responses_fail_the_batch(triton: FakePbUtils) -> None:
    triton.load(Model(lambda requests: []), CONFIG)
    with pytest.raises(FakeInferenceError, match="expected 1 responses, got 0"):
        triton.infer("m", {"text": TEXT})


@pytest.mark.parametrize("answer", [None, [None]])
def test_an_answer_that_hangs_the_server_fails_the_test(triton: FakePbUtils, answer: Any) -> None:
    triton.load(Model(lambda requests: answer), CONFIG)
    with pytest.raises(AssertionError):
        triton.infer("m", {"text": TEXT})


def test_a_response_may_come_later_from_a_sender(triton: FakePbUtils) -> None:
    def execute(requests: list[Any]) -> None:
        for request in requests:
            response = FakeResponse([triton.Tensor("out", np.array([7], np.int32))])
            request.get_response_sender().send(response, flags=triton.TRITONSERVER_RESPONSE_COMPLETE_FINAL)

    triton.load(Model(execute), CONFIG)
    assert triton.infer("m", {"text": TEXT})["out"].tolist() == [7]


def test_the_module_is_gone_after_the_test() -> None:
    import sys

    with FakePbUtils():
        assert "triton_python_backend_utils" in sys.modules
    assert "triton_python_backend_utils" not in sys.modules
