"""Schemas of the benchmarks: a small retrieval pipeline."""

from typing import Annotated

from pydantic import Field

from vertical_engines.sdk import NDArray, TritonFieldModel, TritonType

DIMENSION = 64
CANDIDATES = 8


class Query(TritonFieldModel):
    query: str = Field(json_schema_extra={"data_type": "TYPE_STRING"})
    region: str | None = Field(None, json_schema_extra={"data_type": "TYPE_STRING"})
    limit: Annotated[int, TritonType("TYPE_INT32"), Field(ge=1, le=100)] = 10
    threshold: Annotated[float, TritonType("TYPE_FP32")] = 0.0


class Vector(TritonFieldModel):
    vector: Annotated[NDArray, TritonType("TYPE_FP32")]
    limit: Annotated[int, TritonType("TYPE_INT32")]


class Found(TritonFieldModel):
    names: list[str]
    scores: Annotated[NDArray, TritonType("TYPE_FP32")]


class Reply(TritonFieldModel):
    name: str
    score: Annotated[float, TritonType("TYPE_FP32")]
    names: list[str]
