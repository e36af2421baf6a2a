"""The base class of every tensor schema, and the array type for numeric tensors."""

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from vertical_engines.sdk.dtypes import Array
from vertical_engines.sdk.plan import SchemaPlan, compile_plan

NDArray = Array
"""A numeric tensor without conversion: `Annotated[NDArray, TritonType("TYPE_FP32", dims=(-1, -1))]`."""


class TritonFieldModel(BaseModel):
    """A pydantic model whose fields are tensors.

    A field's data type comes from `Annotated[..., TritonType(...)]`, else from
    `Field(json_schema_extra={"data_type": "TYPE_STRING"})`, else from its Python type. A field with a default, or an
    Optional one, is an optional input. Types without a tensor form raise SchemaError when the class is created.
    """

    model_config = ConfigDict(
        arbitrary_types_allowed=True, allow_inf_nan=False, extra="forbid", frozen=True, populate_by_name=True, protected_namespaces=()
    )

    cache_revision: ClassVar[str] = ""
    """Change it together with the code of a model whose responses may be cached: answers of the old code are then not found any more."""

    __triton_plan__: ClassVar[SchemaPlan | None] = None

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        # A class with a forward reference is not complete yet: `plan` compiles it at first use instead.
        cls.__triton_plan__ = compile_plan(cls) if cls.__pydantic_complete__ else None

    @classmethod
    def plan(cls) -> SchemaPlan:
        """The tensors of this schema."""
        if cls.__triton_plan__ is None:
            cls.model_rebuild()
            cls.__triton_plan__ = compile_plan(cls)
        return cls.__triton_plan__

    @classmethod
    def get_field_names(cls) -> list[str]:
        """Tensor names in order of declaration."""
        return [field.tensor for field in cls.plan().fields]
