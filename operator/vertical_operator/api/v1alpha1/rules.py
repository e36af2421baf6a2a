"""One table entry per cross-field rule: the CEL text for the API server and the same check for pydantic, with one message."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from pydantic import GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from vertical_engines.contract.frozen import Frozen

VALIDATIONS = "x-kubernetes-validations"


@dataclass(frozen=True)
class Rule:
    """`holds` gets the model that carries the rule; None for transition rules, which need the old object."""

    cel: str
    message: str
    holds: Callable[[Any], bool] | None = None

    def schema(self) -> dict[str, str]:
        return {"rule": self.cel, "message": self.message}


class Ruled(Frozen):
    """A spec type with rules: refused by pydantic and by the API server with the same words."""

    rules: ClassVar[tuple[Rule, ...]] = ()

    @model_validator(mode="after")
    def _obey(self) -> Self:
        for rule in self.rules:
            if rule.holds is not None and not rule.holds(self):
                # The text goes in as context: braces in a message must not be read as placeholders.
                raise PydanticCustomError("rule", "{message}", {"message": rule.message})
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler.resolve_ref_schema(handler(core_schema))
        if cls.rules:
            schema[VALIDATIONS] = [rule.schema() for rule in cls.rules]
        return schema


def exactly_one(model: Frozen) -> bool:
    """One field set, the others left out."""
    return sum(value is not None for _, value in model) == 1
