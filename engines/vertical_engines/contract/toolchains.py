"""The compatibility matrix: one data file (`toolchains.json`), one loader, one query.

    row = release(backend="TensorRTLLM", name="24.09")      # Release | None
    row.tensorrt_llm                                        # Version(0, 13, 0): compare with Version.of("0.12")
    row.flags                                               # name -> FlagSpec: what this release knows, by name
    {n for n, flag in row.flags.items() if flag.step == "build"}    # options of its `trtllm-build`
    row.flags["max_batch_size"].default                     # 256
    row.knows("max_output_len")                             # False: gone since 0.12
    row.flags["kv_cache_type"].choices                      # ("continuous", "paged", "disabled")
    row.flags["tokens_per_block"].objection(48)             # "has to be a power of two"
    row.parameters                                          # name -> FlagSpec: what config.pbtxt of its `tensorrt_llm` model knows
    row.batching                                            # {"Static": ["contiguous", "paged"], "InFlight": ["paged"]}
    row.runs_on(75)                                         # architectures (SM) that it has code for
    gpu("Tesla-T4")                                         # Gpu(sm=75, memory=15360) | None
    architecture(75).dtypes                                 # number types of the architecture

`Matrix` holds all of it. The functions of this module ask the matrix that is built in; an installation may have a larger one
(`Matrix.extended`), which the operator hands on in its settings.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PlainSerializer

from vertical_engines.contract.engine import Backend, KvLayout
from vertical_engines.contract.flags import FlagSpec, Histories, flags_at, named
from vertical_engines.contract.frozen import Frozen
from vertical_engines.contract.gpus import Architecture, Gpu, SmRange, lookup
from vertical_engines.contract.versions import Version

Batching = Literal["Static", "InFlight"]

SmRanges = Annotated[
    tuple[SmRange, ...],
    BeforeValidator(lambda texts: [SmRange.of(text) if isinstance(text, str) else text for text in texts]),
    PlainSerializer(lambda ranges: [str(range_) for range_ in ranges]),
]
"""In the file as text: `["75", "80-90"]`."""

VERSIONED_BY = {"TensorRTLLM": "tensorrt_llm", "TensorRTLLMPyTorch": "tensorrt_llm", "OpenVINO": "openvino"}
"""The program whose version decides which flags a release of a backend knows."""


class Scripts(Frozen):
    """Where a version of TensorRT-LLM keeps the scripts that make a checkpoint."""

    conversion: tuple[str, ...]
    """Folders to look in, in their order; `{family}` is the model family's. The first that exists counts."""
    quantization: str
    in_image: bool
    """Whether NVIDIA's image has them; where it has not, ours is built with a copy."""


class Release(Frozen):
    """One row: a backend's release, the image that builds and serves it, and what it can do."""

    backend: Backend
    release: str
    image: str
    """Ours: builder and runtime."""
    base: str = ""
    """NVIDIA's image that ours is made from, without its registry."""
    triton: str
    python: str
    versions: dict[str, str] = Field(default_factory=dict)
    sm: SmRanges
    """GPU architectures that it has code for; empty: CPU only."""
    batching: dict[Batching, tuple[KvLayout, ...]]
    """Kinds of batching that it serves, each with the KV layouts that it can serve so."""
    note: str = ""
    flags: dict[str, FlagSpec] = Field(default_factory=dict, exclude=True)
    """What its build program knows; worked out from the histories of the file."""
    parameters: dict[str, FlagSpec] = Field(default_factory=dict, exclude=True)
    """What the configuration of its Triton model knows; worked out in the same way."""
    scripts: Scripts | None = Field(default=None, exclude=True)
    """Of its TensorRT-LLM; worked out in the same way."""

    @property
    def version(self) -> Version:
        """Of the program that builds."""
        return Version.of(self.versions[VERSIONED_BY[self.backend]])

    @property
    def tensorrt_llm(self) -> Version | None:
        text = self.versions.get("tensorrt_llm")
        return Version.of(text) if text else None

    @property
    def cpu_only(self) -> bool:
        return not self.sm

    def runs_on(self, sm: int) -> bool:
        return any(sm in known for known in self.sm)

    def knows(self, flag: str) -> bool:
        return flag in self.flags

    def serves(self, batching: Batching, layout: KvLayout) -> bool:
        return layout in self.batching.get(batching, ())


class Toolchains(Frozen):
    """A file in the format of `toolchains.json`: the one that is built in, or one with additions."""

    releases: tuple[Release, ...] = ()
    flags: dict[Backend, Annotated[Histories, BeforeValidator(named)]] = Field(default_factory=dict)
    parameters: dict[Backend, Annotated[Histories, BeforeValidator(named)]] = Field(default_factory=dict)
    architectures: dict[int, Architecture] = Field(default_factory=dict)
    gpus: dict[str, Gpu] = Field(default_factory=dict)
    scripts: dict[str, Scripts] = Field(default_factory=dict)
    """By the first version of TensorRT-LLM that keeps them there."""


class Matrix:
    """Everything that is known of releases and GPUs, by name. Made from a valid file; never changed."""

    def __init__(self, file: Toolchains) -> None:
        self.file = file
        self.releases: tuple[Release, ...] = tuple(self._complete(row) for row in file.releases)
        self._rows: Mapping[tuple[str, str], Release] = {(row.backend, row.release): row for row in self.releases}

    def _complete(self, row: Release) -> Release:
        flags = flags_at(self.file.flags.get(row.backend, {}), row.version)
        parameters = flags_at(self.file.parameters.get(row.backend, {}), row.version)
        return row.model_copy(update={"flags": flags, "parameters": parameters, "scripts": self._scripts(row.tensorrt_llm)})

    def _scripts(self, version: Version | None) -> Scripts | None:
        known = sorted(((Version.of(text), scripts) for text, scripts in self.file.scripts.items()), key=lambda pair: pair[0])
        return next((scripts for since, scripts in reversed(known) if version is not None and since <= version), None)

    def release(self, *, backend: str, name: str) -> Release | None:
        """The row of a backend's release, or None."""
        return self._rows.get((backend, name))

    def release_names(self, backend: str) -> list[str]:
        """Releases of a backend, oldest first."""
        return [row.release for row in self.releases if row.backend == backend]

    def gpu(self, product: str) -> Gpu | None:
        """A product by the value of its node label; None: not in the table."""
        return lookup(product, self.file.gpus)

    def architecture(self, sm: int) -> Architecture:
        """What is known of an architecture; one that is not in the table can do everything, as newer ones can."""
        return self.file.architectures.get(sm, Architecture())


@cache
def matrix() -> Matrix:
    """The matrix that is built in."""
    text = resources.files("vertical_engines.contract").joinpath("toolchains.json").read_text(encoding="utf-8")
    return Matrix(Toolchains.model_validate(json.loads(text)))


def releases() -> tuple[Release, ...]:
    """Every row that is built in, oldest first."""
    return matrix().releases


def release(*, backend: str, name: str) -> Release | None:
    """The row of a backend's release, or None."""
    return matrix().release(backend=backend, name=name)


def release_names(backend: str) -> list[str]:
    """Releases of a backend that are built in, oldest first."""
    return matrix().release_names(backend)


def gpu(product: str) -> Gpu | None:
    """A GPU product by the value of its node label, or None."""
    return matrix().gpu(product)


def architecture(sm: int) -> Architecture:
    """What is known of an architecture (75 for compute capability 7.5)."""
    return matrix().architecture(sm)
