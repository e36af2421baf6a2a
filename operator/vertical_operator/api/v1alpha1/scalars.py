"""Bounded scalar and list types of the API: every string, list and map has a limit, so that CEL rules stay affordable."""

from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Field, StrictInt, WithJsonSchema
from pydantic_core import PydanticCustomError

Name = Annotated[str, Field(min_length=1, max_length=20, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
"""Name of a variant or placement: it becomes part of object names and a label value."""
ObjectName = Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$")]
QueueName = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$")]
"""It becomes the value of a label."""
TritonName = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$")]
ImageReference = Annotated[str, Field(min_length=1, max_length=512, pattern=r"^[^\s]+$")]
FolderInImage = Annotated[str, Field(max_length=512, pattern=r"^(/[A-Za-z0-9_-][A-Za-z0-9._@+-]*)+/?$")]
"""An absolute folder; the root itself is refused, and so is `..`."""
FolderInClaim = Annotated[str, Field(max_length=512, pattern=r"^([A-Za-z0-9_-][A-Za-z0-9._@+-]*(/[A-Za-z0-9_-][A-Za-z0-9._@+-]*)*)?$")]
"""A relative folder; empty is the whole volume."""
Text = Annotated[str, Field(max_length=253)]
LongText = Annotated[str, Field(max_length=1024)]
Size = Annotated[str, Field(max_length=20, pattern=r"^[1-9][0-9]*(Ki|Mi|Gi|Ti|k|M|G|T)?$")]
"""Bytes as a Kubernetes quantity without fractions, such as 64Mi."""
ParameterCount = Annotated[str, Field(max_length=12, pattern=r"^[1-9][0-9]*(\.[0-9]+)?[MB]$")]
"""Number of weights as models are named: 135M, 1.3B."""
Tokens = Annotated[int, Field(strict=True, ge=1, le=10_000_000)]
Requests = Annotated[int, Field(strict=True, ge=1, le=100_000)]

QUANTITY_PATTERN = r"^(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
Quantity = Annotated[
    StrictInt | Annotated[str, Field(pattern=QUANTITY_PATTERN, max_length=40)],
    WithJsonSchema(
        {
            "x-kubernetes-int-or-string": True,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": QUANTITY_PATTERN,
            "maxLength": 40,
        }
    ),
]
"""A Kubernetes resource quantity: a number or a string."""

SIZE_FACTORS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def size_bytes(size: str) -> int:
    """Bytes of a `Size`."""
    for suffix, factor in SIZE_FACTORS.items():
        if size.endswith(suffix):
            return int(size.removesuffix(suffix)) * factor
    return int(size)


def parameter_count(count: str) -> float:
    """Weights of a `ParameterCount`."""
    return float(count[:-1]) * {"M": 1e6, "B": 1e9}[count[-1]]


Items = TypeVar("Items", bound=Sequence[Any])


def distinct(key: str) -> AfterValidator:
    """Refuses a list in which two entries have the same value in one field."""

    def check(items: Items) -> Items:
        seen: set[Any] = set()
        for item in items:
            value = getattr(item, key)
            if value in seen:
                raise PydanticCustomError("duplicate", "Duplicate value: {key} {value}", {"key": key, "value": str(value)})
            seen.add(value)
        return items

    return AfterValidator(check)


def list_map(key: str, *, max_items: int, min_items: int = 0) -> Any:
    """A list whose entries are addressed by one field: server-side apply merges it by entry, and the API server refuses duplicates."""
    extra: dict[str, Any] = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]}
    return Field(min_length=min_items, max_length=max_items, json_schema_extra=extra)
