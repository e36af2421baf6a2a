"""What the SLM takes and gives as schemas of the SDK, and how a limit that is passed becomes its failure."""

from collections.abc import Callable
from typing import Annotated, TypeVar

from vertical_engines.models.refusal import Refusal
from vertical_engines.sdk import TritonFieldModel, TritonType
from vertical_engines.sdk.errors import ErrorCode, RequestFailure

Result = TypeVar("Result")


class GeneratorRequest(TritonFieldModel):
    prompt: str
    max_tokens: Annotated[int | None, TritonType("TYPE_INT32")] = None
    cache_salt: Annotated[int | None, TritonType("TYPE_UINT64")] = None


class GeneratorResponse(TritonFieldModel):
    text: str
    tokens: Annotated[int, TritonType("TYPE_INT32")]
    finish_reason: str
    engine: str


def within(check: Callable[[], Result]) -> Result:
    """The result of a check of limits; its Refusal as a failure that keeps code and words."""
    try:
        return check()
    except Refusal as refusal:
        raise RequestFailure(str(refusal), code=ErrorCode(refusal.code)) from None
