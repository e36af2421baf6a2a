"""Models with max_batch_size: rows, columns, one bad row among good ones, and batched children."""

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, field_validator

from vertical_engines.sdk import (
    BadRequest,
    ErrorCode,
    NDArray,
    RequestFailure,
    SchemaError,
    TritonFieldModel,
    TritonPythonModel,
    TritonType,
    columns_of,
)
from vertical_engines.sdk.codec import InvalidMessage
from vertical_engines.sdk.config import model_config_of
from vertical_engines.sdk.errors import CodecError
from vertical_engines.sdk.rows import RowCodec
from vertical_engines.sdk.testing import FakeInferenceError, FakePbUtils


class Item(TritonFieldModel):
    text: Annotated[str, Field(max_length=5)]
    weight: Annotated[float, TritonType("TYPE_FP32"), Field(ge=0)] = 1.0
    vector: Annotated[NDArray | None, TritonType("TYPE_FP32", dims=(2,))] = None


class Point(BaseModel):
    x: int


class Everything(TritonFieldModel):
    text: str
    words: list[str]
    grid: list[list[int]]
    point: Point
    flag: bool
    vector: Annotated[NDArray, TritonType("TYPE_FP32", dims=(-1,))]
    maybe: str | None = None


class Size(TritonFieldModel):
    size: Annotated[int, TritonType("TYPE_INT32")]
    note: str | None = None


class Single(TritonPythonModel[Item, Size]):
    """Knows nothing of batches."""

    request_model, response_model = Item, Size

    def handle(self, request: Item) -> Size:
        if request.text == "bad":
            raise BadRequest("text: bad")
        return Size(size=len(request.text))


class Together(Single):
    def setup(self) -> None:
        self.seen: list[int] = []

    def handle_batch(self, rows: list[Item]) -> list[Size | RequestFailure]:
        self.seen.append(len(rows))
        if any(row.text == "crash" for row in rows):
            raise ZeroDivisionError("by hand")
        if any(row.text == "few" for row in rows):
            return []
        return [BadRequest("text: bad") if row.text == "bad" else Size(size=len(row.text)) for row in rows]


class Columnar(Together):
    def handle_columns(self, columns: Any) -> BaseModel:
        self.seen.append(len(columns.text))
        if "crash" in columns.text:
            raise ZeroDivisionError("by hand")
        return columns_of(Size)(size=[len(text) for text in columns.text])


class Caller(TritonPythonModel[Item, Size]):
    request_model, response_model = Item, Size
    public = True

    def handle(self, request: Item) -> Size:
        return self._infer_model(request, Size, "batched", batch_inference=True)


@pytest.fixture
def triton() -> Iterator[FakePbUtils]:
    with FakePbUtils() as fake:
        yield fake


def load(triton: FakePbUtils, model: Any, name: str = "batched", *, batch: int = 8) -> Any:
    triton.load(model, model_config_of(name, request=Item.plan(), response=Size.plan(), max_batch_size=batch))
    return model


def texts(*words: str) -> dict[str, Any]:
    return {"text": np.array([[word] for word in words], object)}


def requests(triton: FakePbUtils, *groups: list[str]) -> list[Any]:
    return [triton.InferenceRequest(model_name="batched", inputs=[triton.Tensor("text", texts(*group)["text"])]) for group in groups]


def told(responses: list[list[Any]]) -> list[Any]:
    return [one.error().message() if one.has_error() else one.output_tensors()[0].as_numpy().ravel().tolist() for (one,) in responses]


everything = st.builds(
    Everything,
    text=st.text(),
    words=st.lists(st.text(), min_size=2, max_size=2),
    grid=st.just([[1, 2], [3, 4]]),
    point=st.builds(Point, x=st.integers()),
    flag=st.booleans(),
    vector=st.just(np.zeros(3, np.float32)),
)


@given(st.lists(everything, min_size=1, max_size=4))
def test_what_is_encoded_as_a_batch_is_decoded_again(originals: list[Everything]) -> None:
    codec = RowCodec(Everything)
    named = codec.encode(originals)
    assert {len(array) for _, array in named} == {len(originals)}
    copies = codec.decode(named)
    assert [copy.model_dump(exclude={"vector"}) for copy in copies] == [one.model_dump(exclude={"vector"}) for one in originals]


@pytest.mark.parametrize("kind", [Single, Together, Columnar])
def test_one_answer_a_row(triton: FakePbUtils, kind: Any) -> None:
    load(triton, kind())
    answer = triton.infer("batched", texts("a", "bb", "ccc"))
    assert (answer["size"].tolist(), answer["size"].dtype) == ([[1], [2], [3]], np.int32)


@pytest.mark.parametrize("kind", [Single, Together, Columnar])
def test_a_bad_row_fails_its_request_alone(triton: FakePbUtils, kind: Any) -> None:
    load(triton, kind())
    first, second, third = told(triton.run("batched", requests(triton, ["a"], ["b", "too long"], ["cc", "dd"])))
    assert (first, third) == ([1], [2, 2])
    assert "String should have at most 5 characters" in second
    assert second.startswith("[INVALID_ARG] row 1.text" if kind is not Columnar else "[INVALID_ARG] text.1")


@pytest.mark.parametrize("kind", [Single, Together])
def test_a_failure_of_one_row_names_it(triton: FakePbUtils, kind: Any) -> None:
    load(triton, kind())
    answers = told(triton.run("batched", requests(triton, ["a"], ["bad"], ["b", "bad"])))
    assert answers == [[1], "[INVALID_ARG] text: bad", "[INVALID_ARG] row 1: text: bad"]


@pytest.mark.parametrize("kind", [Together, Columnar])
def test_a_handler_that_fails_takes_only_the_guilty_request(triton: FakePbUtils, kind: Any) -> None:
    model = load(triton, kind())
    answers = told(triton.run("batched", requests(triton, ["a"], ["crash"], ["b"])))
    assert answers == [[1], "[INTERNAL] ZeroDivisionError: by hand", [1]]
    assert model.seen == [3, 1, 1, 1]


def test_all_requests_are_one_call_of_the_handler(triton: FakePbUtils) -> None:
    for kind in (Together, Columnar):
        model = load(triton, kind())
        triton.run("batched", requests(triton, ["a"], ["b", "c"]))
        assert model.seen == [3]


def test_requests_with_other_inputs_are_not_put_together(triton: FakePbUtils) -> None:
    model = load(triton, Columnar())
    mixed = requests(triton, ["a"], ["b"])
    mixed[1]._inputs.append(triton.Tensor("weight", np.array([[2.0]], np.float32)))
    assert told(triton.run("batched", mixed)) == [[1], [1]]
    assert model.seen == [1, 1]


def test_too_few_answers_are_an_error(triton: FakePbUtils) -> None:
    load(triton, Together())
    with pytest.raises(FakeInferenceError, match=r"handle_batch\(\) gave 0 answers for 1 rows"):
        triton.infer("batched", texts("few"))


def test_none_in_some_rows_only_has_no_tensor() -> None:
    codec = RowCodec(Size)
    with pytest.raises(CodecError, match="note: is None in 1 of 2 rows"):
        codec.encode([Size(size=1), Size(size=1, note="x")])
    assert [name for name, _ in codec.encode([Size(size=1), Size(size=1)])] == ["size"]


def test_lists_of_different_lengths_have_no_tensor() -> None:
    class Lists(TritonFieldModel):
        words: list[str]

    with pytest.raises(CodecError, match="words: rows of different lengths"):
        RowCodec(Lists).encode([Lists(words=["a"]), Lists(words=[])])


def test_different_numbers_of_rows_are_refused() -> None:
    with pytest.raises(InvalidMessage, match="different numbers of rows"):
        RowCodec(Item).decode([*texts("a", "b").items(), ("weight", np.array([[1.0]], np.float32))])


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (texts(*"abcdefghi"), "inference request batch-size must be <= 8 for 'batched'"),
        ({"text": np.array(["a"], object)}, r"Expected \[-1,1\], got \[1\]"),
    ],
)
def test_the_core_refuses_other_batches(triton: FakePbUtils, inputs: dict[str, Any], message: str) -> None:
    load(triton, Single())
    with pytest.raises(FakeInferenceError, match=message) as caught:
        triton.infer("batched", inputs)
    assert caught.value.code is ErrorCode.INVALID_ARG


def test_a_child_with_batches_is_called_with_one_row(triton: FakePbUtils) -> None:
    load(triton, Single())
    load(triton, Caller(), "caller", batch=0)
    assert triton.infer("caller", {"text": np.array(["abc"], object)})["size"].tolist() == [3]


def test_a_batched_caller_asks_for_each_row(triton: FakePbUtils) -> None:
    load(triton, Single())
    load(triton, Caller(), "caller")
    assert triton.infer("caller", texts("a", "bb"))["size"].tolist() == [[1], [2]]
    assert triton.calls == ["caller", "batched", "batched"]


def test_columns_are_refused_for_schemas_with_validators() -> None:
    class Strict(TritonFieldModel):
        text: str

        @field_validator("text")
        @classmethod
        def check(cls, value: str) -> str:
            return value

    with pytest.raises(SchemaError, match="validators that look at one row"):
        columns_of(Strict)


def test_array_columns_stay_arrays(triton: FakePbUtils) -> None:
    seen: list[Any] = []

    class Vectors(Columnar):
        def handle_columns(self, columns: Any) -> BaseModel:
            seen.append(columns.vector)
            return super().handle_columns(columns)

    load(triton, Vectors())
    triton.infer("batched", {**texts("a", "b"), "vector": np.zeros((2, 2), np.float32)})
    assert seen[0].shape == (2, 2)
