"""Schemas of the vertical: what clients send and get, and what its BLS model exchanges with the encoder and the SLM."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, model_validator

from vertical_engines.sdk import NDArray, TritonFieldModel, TritonType

from .logic.records import Comparable, comparable

NAME_LIMIT = 200
LINE_LIMIT = 300
LINES_LIMIT = 10
"""Characters of a name and of a line, lines of a list: a receipt has no more, and work per request stays bounded."""

Line = Annotated[str, Field(max_length=LINE_LIMIT)]


class BlsRequest(TritonFieldModel):
    """A receipt as the parser read it. Every field may be missing, not all of them."""

    name: str | None = Field(None, max_length=NAME_LIMIT, json_schema_extra={"data_type": "TYPE_STRING"})
    subname: str | None = Field(None, max_length=NAME_LIMIT, json_schema_extra={"data_type": "TYPE_STRING"})
    biznum: str | None = Field(None, max_length=NAME_LIMIT, json_schema_extra={"data_type": "TYPE_STRING"})
    address: list[Line] | None = Field(None, max_length=LINES_LIMIT, json_schema_extra={"data_type": "TYPE_STRING"})
    tel: list[Line] | None = Field(None, max_length=LINES_LIMIT, json_schema_extra={"data_type": "TYPE_STRING"})

    @model_validator(mode="after")
    def check_all_fields_empty(self) -> "BlsRequest":
        texts = [self.name, self.subname, self.biznum, *(self.address or []), *(self.tel or [])]
        if not any(text and text.strip() for text in texts):
            raise ValueError("name, subname, biznum, address, tel: at least one must not be empty")
        return self

    def comparable(self) -> Comparable:
        """The receipt in the form in which it is compared with places."""
        return comparable(
            name=self.name or "", branch=self.subname or "", address=self.address or [], phones=self.tel or [], biznum=self.biznum or ""
        )


class Candidate(BaseModel):
    """One place that was considered. Scores and similarities lie between 0 and 1, `cosine` between -1 and 1.

    A feature is None where receipt or place lack what it compares.
    """

    place_id: str
    name: str
    branch: str
    address: str
    score: float
    cosine: float
    name_similarity: float | None
    branch_similarity: float | None
    address_similarity: float | None
    phone_equal: bool | None
    biznum_equal: bool | None


Vote = Literal["yes", "no", "unclear"]


class BlsResponse(TritonFieldModel):
    """The answer. place_id, name, address and tel are absent when no place matched."""

    matched: bool
    score: Annotated[float, TritonType("TYPE_FP32")]
    """Of the best candidate, 0 to 1."""
    place_id: str | None = None
    name: str | None = None
    address: str | None = None
    tel: str | None = None
    candidates: list[Candidate]
    """Best first, each one JSON document."""
    generated: str
    """What the SLM wrote about the best candidate."""
    generator_vote: Vote
    """Reported, not decisive."""
    engine: str
    """Short key of the engine that generated."""
    variant: str
    """Variant that answered, empty when its configuration does not name it."""


class EncoderRequest(TritonFieldModel):
    text: list[str]


class EncoderResponse(TritonFieldModel):
    """`embedding`: one row a text, normalised to length 1."""

    embedding: Annotated[NDArray, TritonType("TYPE_FP32", dims=(-1, -1))]


class GeneratorRequest(TritonFieldModel):
    """Inputs of the SLM; the SDK fills cache_salt."""

    prompt: str
    max_tokens: Annotated[int | None, TritonType("TYPE_INT32")] = None
    cache_salt: Annotated[int | None, TritonType("TYPE_UINT64")] = None


class GeneratorResponse(TritonFieldModel):
    text: str
    tokens: Annotated[int, TritonType("TYPE_INT32")]
    finish_reason: str
    engine: str
