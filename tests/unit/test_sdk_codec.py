"""Tensors to objects and back: every type, every malformed tensor, and values that a data type can't hold."""

import contextlib
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, HttpUrl, SecretStr, create_model, field_validator

from vertical_engines.sdk import NDArray, TritonFieldModel, TritonType
from vertical_engines.sdk.codec import Codec, InvalidMessage
from vertical_engines.sdk.errors import CodecError
from vertical_engines.sdk.testing import FakeTensor


class Colour(str, Enum):  # noqa: UP042 (StrEnum is not in Python 3.10)
    RED = "red"


class Plain(Enum):
    ON = "on"


class Point(BaseModel):
    x: int
    tags: list[str] = []


class Everything(TritonFieldModel):
    text: str
    raw: bytes
    flag: bool
    small: Annotated[int, TritonType("TYPE_INT8")]
    big: Annotated[int, TritonType("TYPE_UINT64")]
    real: float
    half: Annotated[float, TritonType("TYPE_FP32")]
    colour: Colour
    word: Literal["yes", "no"]
    point: Point
    texts: list[str]
    numbers: tuple[Annotated[int, TritonType("TYPE_INT32")], ...]
    points: list[Point]
    maybe: str | None = None
    matrix: Annotated[NDArray, TritonType("TYPE_FP32", dims=(-1, 2))]
    plain: Plain
    moment: datetime
    days: list[date]
    clock: time
    key: UUID
    price: Decimal
    secret: SecretStr
    home: HttpUrl
    grid: list[list[Annotated[int, TritonType("TYPE_INT16")]]]
    table: list[tuple[str, ...]]
    loose: Annotated[NDArray, TritonType("TYPE_INT64")]


Matrix = Annotated[NDArray, TritonType("TYPE_FP32", dims=(-1, 3))]


class Bare:
    """A tensor as the fast path asks for it."""

    def __init__(self, name: str, array: Any) -> None:
        self._name, self._array = name, array

    def name(self) -> str:
        return self._name

    def as_numpy(self) -> Any:
        return self._array


def strings(*elements: Any) -> Any:
    array = np.empty(len(elements), object)
    array[:] = elements
    return array


def schema(annotation: Any, default: Any = ...) -> Codec[Any]:
    return Codec(create_model("Schema", __base__=TritonFieldModel, value=(annotation, default)))


everything = st.builds(
    Everything,
    text=st.text(),
    raw=st.binary(),
    flag=st.booleans(),
    small=st.integers(-128, 127),
    big=st.integers(0, 2**64 - 1),
    real=st.floats(allow_nan=False, allow_infinity=False),
    half=st.floats(allow_nan=False, allow_infinity=False, width=32),
    colour=st.just(Colour.RED),
    word=st.sampled_from(["yes", "no"]),
    point=st.builds(Point, x=st.integers(), tags=st.lists(st.text())),
    texts=st.lists(st.text()),
    numbers=st.lists(st.integers(-(2**31), 2**31 - 1)).map(tuple),
    points=st.lists(st.builds(Point, x=st.integers())),
    maybe=st.none() | st.text(),
    plain=st.just(Plain.ON),
    moment=st.datetimes(),
    days=st.lists(st.dates()),
    clock=st.times(),
    key=st.uuids(),
    price=st.decimals(allow_nan=False, allow_infinity=False),
    secret=st.text().map(SecretStr),
    home=st.just(HttpUrl("https://example.com/a?b=c")),
    grid=st.integers(0, 3).flatmap(lambda width: st.lists(st.lists(st.integers(-9, 9), min_size=width, max_size=width))),
    table=st.lists(st.tuples(st.text(), st.text())),
    loose=st.just(np.arange(3)),
    matrix=st.integers(0, 4).map(lambda rows: np.arange(rows * 2, dtype=np.float32).reshape(rows, 2)),
)


@given(everything)
def test_what_is_encoded_is_decoded_again(original: Everything) -> None:
    codec, arrays = Codec(Everything), {"matrix", "loose"}
    # As pairs, and on the fast path with tensors in which strings have become bytes.
    for copy in (codec.decode(codec.encode(original)), codec.decode_tensors(codec.encode_tensors(original, FakeTensor))):
        assert np.array_equal(copy.matrix, original.matrix)
        assert np.array_equal(copy.loose, original.loose)
        assert copy.model_dump(exclude=arrays) == original.model_dump(exclude=arrays)


def test_the_fast_path_is_taken() -> None:
    original = Everything(
        text="é",
        raw=b"\xff",
        flag=True,
        small=1,
        big=2,
        real=0.5,
        half=0.5,
        colour=Colour.RED,
        word="no",
        point=Point(x=1),
        texts=["a"],
        numbers=(1,),
        points=[Point(x=2)],
        plain=Plain.ON,
        moment=datetime(2026, 1, 1),
        days=[],
        clock=time(1),
        key=UUID(int=1),
        price=Decimal("1.10"),
        secret=SecretStr("s"),
        home=HttpUrl("https://example.com"),
        grid=[[1], [2]],
        table=[],
        loose=np.arange(2),
        matrix=np.zeros((1, 2), np.float32),
    )
    codec = Codec(Everything)
    tensors = codec._fast_encode(original.__dict__, FakeTensor)
    assert codec._fast_decode(tensors).model_dump(exclude={"matrix", "loose"}) == original.model_dump(exclude={"matrix", "loose"})


def test_rows_of_different_lengths_are_refused() -> None:
    codec = schema(list[list[int]])
    with pytest.raises(CodecError, match=r"value: rows of different lengths \(1, 2\) make no tensor"):
        codec.encode(codec.schema(value=[[1], [1, 2]]))


def test_an_aliased_field_takes_the_fast_path_too() -> None:
    codec: Codec[Any] = Codec(create_model("Schema", __base__=TritonFieldModel, value=(int, Field(alias="INPUT 0'"))))
    tensors = codec.encode_tensors(codec.schema(value=3), FakeTensor)
    assert [tensor.name() for tensor in tensors] == ["INPUT 0'"]
    assert codec._fast_decode(tensors).value == 3


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_schema_may_allow_what_is_no_number(value: float) -> None:
    codec = schema(Annotated[float, Field(allow_inf_nan=True), TritonType("TYPE_FP16")])
    (tensor,) = codec.encode_tensors(codec.schema(value=value), FakeTensor)
    assert str(tensor.as_numpy().item()) == str(value)


def test_an_array_is_not_copied() -> None:
    array = np.zeros(4, np.float32)
    codec = schema(Annotated[NDArray, TritonType("TYPE_FP32")])
    assert codec.decode([("value", array)]).value is array


def test_none_is_an_absent_tensor_and_an_empty_list_is_not() -> None:
    codec = schema(list[str] | None, None)
    assert codec.encode(codec.schema(value=None)) == []
    assert [array.shape for _, array in codec.encode(codec.schema(value=[]))] == [(0,)]
    assert codec.decode([]).value is None
    assert codec.decode([("value", strings())]).value == []


def test_optional_without_a_default_is_none_when_absent() -> None:
    assert schema(str | None).decode([]).value is None


def test_a_before_validator_sees_text_not_bytes() -> None:
    class Stripped(TritonFieldModel):
        name: str

        @field_validator("name", mode="before")
        @classmethod
        def strip(cls, value: Any) -> Any:
            return value.removeprefix("x") if isinstance(value, str) else "bytes"

    assert Codec(Stripped).decode([("name", strings(b"xy"))]).name == "y"


def test_unknown_tensors_are_left_alone() -> None:
    assert schema(str).decode([("value", strings(b"a")), ("cache_salt", np.array([1], np.uint64))]).value == "a"


@pytest.mark.parametrize(
    ("annotation", "tensors", "message"),
    [
        (str, [], "value: Field required"),
        (str, [("value", strings(b"\xff"))], "value: not valid UTF-8"),
        (list[str], [("value", strings(b"a", b"\xff"))], "value: not valid UTF-8"),
        (str, [("value", strings(b"a", b"b"))], "value: expected one element, got 2"),
        (str, [("value", np.array([1]))], "value: expected TYPE_STRING, got int64"),
        (int, [("value", np.array([1.0]))], "value: expected TYPE_INT64, got float64"),
        (list[int], [("value", np.array([[1]]))], r"value: expected shape \[-1\], got \[1, 1\]"),
        (
            Annotated[NDArray, TritonType("TYPE_FP32", dims=(-1, 3))],
            [("value", np.zeros((2, 2), np.float32))],
            r"value: expected shape \[-1, 3\]",
        ),
        (Annotated[NDArray, TritonType("TYPE_FP32")], [("value", None)], "value: has a data type that numpy does not know"),
        (float, [("value", np.array([np.nan]))], "value: Input should be a finite number"),
        (Annotated[int, Field(ge=1)], [("value", np.array([0]))], "value: Input should be greater than or equal to 1"),
        (Literal["a"], [("value", strings(b"b"))], "value: Input should be 'a'"),
        (Point, [("value", strings(b"{"))], "value: invalid JSON"),
        (Point, [("value", strings(b'{"x": NaN}'))], "value: invalid JSON"),
        (list[Point], [("value", strings(b'{"x": "one"}'))], r"value\.0\.x: Input should be a valid integer"),
    ],
)
def test_a_malformed_tensor_is_refused_by_its_name(annotation: Any, tensors: list[tuple[str, Any]], message: str) -> None:
    with pytest.raises(InvalidMessage, match="^" + message):
        schema(annotation).decode(tensors)
    with pytest.raises(InvalidMessage, match="^" + message):
        schema(annotation).decode_tensors([Bare(*tensor) for tensor in tensors])


def test_a_refusal_shows_neither_values_nor_links() -> None:
    with pytest.raises(InvalidMessage) as caught:
        schema(Annotated[str, Field(max_length=3)]).decode([("value", strings(b"secret"))])
    assert str(caught.value) == "value: String should have at most 3 characters"


def test_a_refusal_names_a_few_problems_only() -> None:
    with pytest.raises(InvalidMessage) as caught:
        schema(list[Annotated[str, Field(max_length=1)]]).decode([("value", strings(*[b"long"] * 50))])
    assert str(caught.value).endswith("and 45 more")


def test_missing_tensors_are_told_apart_from_wrong_ones() -> None:
    with pytest.raises(InvalidMessage) as caught:
        Codec(Everything).decode([("text", strings(b"a"))])
    assert "text" not in caught.value.missing
    assert "points" in caught.value.missing


@pytest.mark.parametrize(
    ("data_type", "value"),
    [("TYPE_INT8", 128), ("TYPE_UINT8", -1), ("TYPE_INT32", 2**40), ("TYPE_UINT64", 2**64)],
)
def test_an_integer_that_does_not_fit_is_an_error_not_another_number(data_type: str, value: int) -> None:
    codec = schema(Annotated[int, TritonType(data_type)])
    with pytest.raises(CodecError, match=f"value: {value} is out of the range of {data_type}"):
        codec.encode(codec.schema(value=value))


def test_a_float_that_does_not_fit_is_an_error_not_infinity() -> None:
    codec = schema(Annotated[float, TritonType("TYPE_FP16")])
    with pytest.raises(CodecError, match="out of the range of TYPE_FP16"):
        codec.encode(codec.schema(value=1e6))


def test_arrays_are_brought_to_the_declared_type_where_that_is_safe() -> None:
    codec = schema(Annotated[NDArray, TritonType("TYPE_FP32")])
    assert codec.encode(codec.schema(value=np.zeros(2)))[0][1].dtype == np.float32
    with pytest.raises(CodecError, match="complex128 can't become TYPE_FP32"):
        codec.encode(codec.schema(value=np.zeros(2, complex)))
    with pytest.raises(CodecError, match="expected shape"):
        codec.encode(codec.schema(value=np.zeros((2, 2))))


dtypes = st.sampled_from([np.dtype(name) for name in ("object", "int8", "float64", "bool", "S3", "U3")])


@given(st.data())
def test_no_tensor_makes_decoding_fail_in_another_way(data: st.DataObject) -> None:
    names = st.sampled_from([*Everything.get_field_names(), "other"])
    tensors = []
    for name in data.draw(st.lists(names)):
        shape = data.draw(st.lists(st.integers(0, 3), max_size=3))
        dtype = data.draw(dtypes)
        array = np.zeros(shape, dtype)
        if dtype.kind == "O":
            array[...] = data.draw(st.binary(max_size=6))
        tensors.append((name, array))
    with contextlib.suppress(InvalidMessage):
        Codec(Everything).decode(tensors)
    with contextlib.suppress(InvalidMessage):
        Codec(Everything).decode_tensors([Bare(*tensor) for tensor in tensors])
