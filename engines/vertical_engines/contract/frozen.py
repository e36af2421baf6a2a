"""The base of every value that crosses the border between operator and images."""

import hashlib
import json
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Frozen(BaseModel):
    """An immutable value: camelCase in JSON, unknown fields refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, protected_namespaces=())

    def to_json(self) -> str:
        """Canonical JSON: sorted keys, no spaces, unset optional fields left out. Equal values give equal bytes."""
        return canonical_json(self.model_dump(mode="json", by_alias=True, exclude_none=True))


def canonical_json(value: Any) -> str:
    """JSON with one spelling per value, so that it can be hashed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: Any) -> str:
    """sha256 of the canonical JSON of a value, 64 hex digits."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()
