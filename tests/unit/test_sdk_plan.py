"""Schemas: what tensor a field becomes, and which types are refused when the class is created."""

from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, Optional, Union
from uuid import UUID

import pytest
from pydantic import BaseModel, Field, HttpUrl, Strict, create_model

from vertical_engines.sdk import Json, NDArray, SchemaError, TritonFieldModel, TritonType


class Colour(str, Enum):  # noqa: UP042 (StrEnum is not in Python 3.10)
    RED = "red"


class Plain(Enum):
    ON = "on"


class Number(Enum):
    ONE = 1


class Point(BaseModel):
    x: int


def plan_of(annotation: Any, default: Any = ...) -> Any:
    return create_model("Schema", __base__=TritonFieldModel, value=(annotation, default)).plan().fields[0]


@pytest.mark.parametrize(
    ("annotation", "data_type", "dims", "optional"),
    [
        (str, "TYPE_STRING", (1,), False),
        (bytes, "TYPE_STRING", (1,), False),
        (bool, "TYPE_BOOL", (1,), False),
        (int, "TYPE_INT64", (1,), False),
        (float, "TYPE_FP64", (1,), False),
        (Optional[str], "TYPE_STRING", (1,), True),  # noqa: UP045
        (str | None, "TYPE_STRING", (1,), True),
        (list[int], "TYPE_INT64", (-1,), False),
        (tuple[float, ...], "TYPE_FP64", (-1,), False),
        (Optional[list[str]], "TYPE_STRING", (-1,), True),  # noqa: UP045
        (list[Annotated[str, Field(max_length=3)]], "TYPE_STRING", (-1,), False),
        (Literal["a", "b"], "TYPE_STRING", (1,), False),
        (Colour, "TYPE_STRING", (1,), False),
        (Plain, "TYPE_STRING", (1,), False),
        (datetime, "TYPE_STRING", (1,), False),
        (UUID, "TYPE_STRING", (1,), False),
        (HttpUrl, "TYPE_STRING", (1,), False),
        (list[Decimal], "TYPE_STRING", (-1,), False),
        (list[list[int]], "TYPE_INT64", (-1, -1), False),
        (list[tuple[Annotated[float, TritonType("TYPE_FP32")], ...]], "TYPE_FP32", (-1, -1), False),
        (Point, "TYPE_STRING", (1,), False),
        (dict[str, int], "TYPE_STRING", (1,), False),
        (list[Point], "TYPE_STRING", (-1,), False),
        (Annotated[list[Point], Json()], "TYPE_STRING", (1,), False),
        (Annotated[list[list[int]], Json], "TYPE_STRING", (1,), False),
        (Annotated[int, TritonType("TYPE_UINT8")], "TYPE_UINT8", (1,), False),
        (Annotated[int | None, TritonType("TYPE_INT32")], "TYPE_INT32", (1,), True),
        (Optional[Annotated[int, TritonType("TYPE_INT32")]], "TYPE_INT32", (1,), True),  # noqa: UP045
        (list[Annotated[float, TritonType("TYPE_FP32")]], "TYPE_FP32", (-1,), False),
        (Annotated[NDArray, TritonType("TYPE_FP32")], "TYPE_FP32", (-1,), False),
        (Annotated[NDArray, TritonType("TYPE_INT8", dims=(-1, 3))], "TYPE_INT8", (-1, 3), False),
    ],
)
def test_a_type_becomes_a_tensor(annotation: Any, data_type: str, dims: tuple[int, ...], optional: bool) -> None:
    field = plan_of(annotation)
    assert (field.data_type, field.dims, field.optional) == (data_type, dims, optional)


@pytest.mark.parametrize(
    ("annotation", "reason"),
    [
        (Union[int, str], "union of several types"),  # noqa: UP007
        (int | str | None, "union of several types"),
        (set[str], "order of a set"),
        (Any, "no tensor form"),
        (complex, "no tensor form"),
        (Number, "values of an Enum must be str"),
        (Annotated[UUID, Strict()], "strict field"),
        (Literal[1, 2], "no tensor form"),
        (list, "name the type of the elements"),
        (tuple[int, str], "name the type of the elements"),
        (list[int | None], "no place for None"),
        (list[list[list[int]]], "two deep at most"),
        (NDArray, "needs a numeric TritonType"),
        (Annotated[NDArray, TritonType("TYPE_STRING")], "needs a numeric TritonType"),
        (Annotated[NDArray, TritonType("TYPE_BF16")], "numpy has no bfloat16"),
        (Annotated[NDArray, TritonType("TYPE_FP32", dims=(0,))], "sizes are positive"),
        (Annotated[int, TritonType("TYPE_FP32")], "TYPE_FP32 can't hold this type"),
        (Annotated[str, TritonType("TYPE_STRNG")], "unknown data type 'TYPE_STRNG'"),
        (Annotated[str, TritonType("TYPE_STRING", dims=(2,))], r"dims of such a field are \[1\]"),
    ],
)
def test_a_type_without_tensor_form_is_refused_with_field_and_reason(annotation: Any, reason: str) -> None:
    with pytest.raises(SchemaError, match=r"^Schema\.value: .*" + reason):
        plan_of(annotation)


def test_the_data_type_may_stand_in_json_schema_extra() -> None:
    assert plan_of(int, Field(json_schema_extra={"data_type": "TYPE_INT32"})).data_type == "TYPE_INT32"


def test_an_annotated_type_wins_over_json_schema_extra() -> None:
    annotation = Annotated[int, TritonType("TYPE_INT8")]
    assert plan_of(annotation, Field(json_schema_extra={"data_type": "TYPE_INT32"})).data_type == "TYPE_INT8"


def test_a_default_makes_an_input_optional() -> None:
    assert plan_of(int, 3).optional


def test_an_alias_is_the_tensor_name() -> None:
    schema = create_model("Schema", __base__=TritonFieldModel, value=(str, Field(alias="INPUT_0")))
    assert schema.get_field_names() == ["INPUT_0"]


def test_two_fields_may_not_share_a_tensor() -> None:
    with pytest.raises(SchemaError, match="share the tensor name"):
        create_model("Schema", __base__=TritonFieldModel, one=(str, Field(alias="x")), two=(str, Field(alias="x")))


class Late(TritonFieldModel):
    points: "list[Later]"


class Later(BaseModel):
    x: int


def test_a_forward_reference_is_planned_at_first_use() -> None:
    assert Late.plan().fields[0].dims == (-1,)
