"""Object metadata as far as the operator reads it. Fields of others are passed over, never written."""

from datetime import datetime

from pydantic import ConfigDict, Field

from vertical_engines.contract.frozen import Frozen


class OwnerReference(Frozen):
    model_config = ConfigDict(extra="ignore")

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False


class ObjectMeta(Frozen):
    model_config = ConfigDict(extra="ignore")

    name: str
    namespace: str = "default"
    uid: str = ""
    """Empty before the API server has the object."""
    resource_version: str = ""
    generation: int = 1
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    finalizers: tuple[str, ...] = ()
    annotations: dict[str, str] = Field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
