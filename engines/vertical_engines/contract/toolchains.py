"""The compatibility matrix: one data file, one loader, one query."""

import json
from functools import cache
from importlib import resources

from pydantic import Field

from vertical_engines.contract.engine import Backend, KvLayout
from vertical_engines.contract.frozen import Frozen


class Release(Frozen):
    """One row: a backend's release, the image that builds and serves it, and what it can do."""

    backend: Backend
    release: str
    image: str
    triton: str
    versions: dict[str, str] = Field(default_factory=dict)
    gpu_products: list[str] | None = None
    """Node label values that it runs on; None: every product; an empty list: CPU only."""
    static_kv_layouts: list[KvLayout]
    """KV layouts that `batching: Static` can serve. InFlight always needs `paged`."""


@cache
def releases() -> tuple[Release, ...]:
    """Every row of `toolchains.json`, oldest first."""
    text = resources.files("vertical_engines.contract").joinpath("toolchains.json").read_text(encoding="utf-8")
    return tuple(Release.model_validate(row) for row in json.loads(text)["releases"])


def release(*, backend: str, name: str) -> Release | None:
    """The row of a backend's release, or None."""
    return next((row for row in releases() if row.backend == backend and row.release == name), None)


def release_names(backend: str) -> list[str]:
    """Releases of a backend that the matrix knows, oldest first."""
    return [row.release for row in releases() if row.backend == backend]
