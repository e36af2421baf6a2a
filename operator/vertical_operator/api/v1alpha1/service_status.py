"""The status of a VerticalService: conditions, the line that `kubectl get` shows, and one entry per placement."""

from typing import Annotated

from pydantic import ConfigDict, Field

from vertical_engines.contract.frozen import Frozen
from vertical_operator.api.v1alpha1.conditions import MESSAGE_LIMIT, Condition
from vertical_operator.api.v1alpha1.scalars import distinct, list_map

Short = Annotated[str, Field(max_length=64)]
Message = Annotated[str, Field(max_length=MESSAGE_LIMIT)]


class PlacementStatus(Frozen):
    """What one placement serves now, and what it is to serve."""

    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)

    name: Short
    product: Short = ""
    """GPU product; empty on CPU."""
    engine: Annotated[str, Field(max_length=253)] = ""
    """Name of the wanted Engine object."""
    desired_engine: Short = ""
    """Short engine key that is wanted."""
    serving_engine: Short = ""
    """Short engine key of the live Deployment; empty when nothing serves."""
    replicas: int = 0
    """Wanted."""
    ready_replicas: int = 0
    reason: Short = "Pending"
    message: Message = ""


class VariantStatus(Frozen):
    """One variant: where to reach it, and its placements."""

    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)

    name: Short
    address: Annotated[str, Field(max_length=253)] = ""
    """Host and HTTP port inside the cluster; gRPC is on 8001."""
    placements: Annotated[tuple[PlacementStatus, ...], list_map("name", max_items=8), distinct("name")] = ()


class VerticalServiceStatus(Frozen):
    """Written by the operator only."""

    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)

    observed_generation: Annotated[int, Field(ge=-1)] = -1
    """Generation that this status describes; -1 before the first visit."""
    conditions: Annotated[tuple[Condition, ...], list_map("type", max_items=16), distinct("type")] = ()
    reason: Short = ""
    """Why it is not well, or Ready."""
    message: Message = ""
    variants_ready: Short = ""
    """Variants that serve, of all."""
    engines_ready: Short = ""
    """Wanted engines that are built, of all."""
    variants: Annotated[tuple[VariantStatus, ...], list_map("name", max_items=8), distinct("name")] = ()
