"""Rules that make Triton's response cache safe: the salt that completes its key, and the models that may not have it."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from vertical_engines.sdk.dtypes import Array
from vertical_engines.sdk.plan import SchemaPlan

SALT_NAME = "cache_salt"
"""Optional input (TYPE_UINT64, dims [1]) of a model whose responses may be cached."""


def schema_fingerprint(*plans: SchemaPlan) -> bytes:
    """Bytes that change when names, types, shapes or the revision of the given schemas do."""
    fields: list[Any] = [[field.tensor, field.data_type, list(field.dims)] for plan in plans for field in plan.fields]
    fields += [getattr(plan.schema, "cache_revision", "") for plan in plans]
    return json.dumps(fields).encode()


def cache_salt(
    fingerprint: bytes, tensors: Iterable[tuple[str, Array]], *, parameters: Mapping[str, Any] | None = None, epoch: int = 0
) -> int:
    """A 64-bit salt over what Triton leaves out of its cache key: schemas, shapes, parameters; `epoch` leaves bad entries behind."""
    hashed = hashlib.blake2b(fingerprint, digest_size=8)
    for name, array in tensors:
        hashed.update(f"{name}{array.shape}".encode())
    if parameters:
        hashed.update(json.dumps(parameters, sort_keys=True).encode())
    hashed.update(epoch.to_bytes(8, "little"))
    return int.from_bytes(hashed.digest(), "little")


def refuse_response_cache(model_config: Mapping[str, Any], *, public: bool, deterministic: bool = True) -> str | None:
    """Why a model may not have the response cache that its configuration asks for, or None."""
    if not model_config.get("response_cache", {}).get("enable"):
        return None
    if not deterministic or model_config.get("parameters", {}).get("decoding", {}).get("string_value") == "Sampling":
        return "no response cache on a model that samples: every caller would get the first caller's answer"
    if model_config.get("sequence_batching"):
        return "the response cache does not work with a model that keeps sequences"
    if public:
        return "no response cache on a model that clients call, since it repeats errors as empty answers: cache its children instead"
    if model_config.get("model_transaction_policy", {}).get("decoupled"):
        return "the response cache does not work with a decoupled model"
    if not any(tensor["name"] == SALT_NAME for tensor in model_config.get("input", [])):
        return f"the response cache needs the optional input {SALT_NAME} (TYPE_UINT64, dims [1]): shapes and parameters are not in its key"
    return None
