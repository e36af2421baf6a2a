"""The manifest of a built engine: written last into the store, checked before anything is served."""

from pydantic import Field

from vertical_engines.contract.engine import Accelerator, BuildFlags, EngineIdentity, Toolchain
from vertical_engines.contract.frozen import Frozen, digest

MANIFEST_NAME = "manifest.json"


class EngineFile(Frozen):
    path: str
    """Relative to the engine's folder."""
    size: int
    """Bytes."""
    sha256: str


class SmokeTest(Frozen):
    """The builder loaded the engine and generated from it before it was published."""

    prompt: str
    text: str
    tokens: int
    seconds: float


class Manifest(Frozen):
    """`<store>/<key>/manifest.json`."""

    key: str
    identity: EngineIdentity
    files: list[EngineFile]
    versions: dict[str, str] = Field(default_factory=dict)
    """Name and version of everything that took part, as found at build time."""
    source_digest: str | None = None
    """sha256 of the model files as they were read."""
    source_revision: str | None = None
    """Commit that the source's revision stood for, where the source has commits."""
    source_files: list[EngineFile] = Field(default_factory=list)
    """The model files that the engine was built from: another build from the same source has to find the same."""
    gpu: str | None = None
    """Product name seen at build time; None on CPU."""
    host_isa: str | None = None
    """Information only: the artefact does not depend on it."""
    smoke_test: SmokeTest | None = None
    built_at: str
    """RFC 3339, UTC."""
    build_seconds: float

    def digest(self) -> str:
        return digest(self.model_dump(mode="json", by_alias=True, exclude_none=True))

    def summary(self) -> "ManifestSummary":
        return ManifestSummary(
            key=self.key,
            manifest_digest=self.digest(),
            size_bytes=sum(file.size for file in self.files),
            build_seconds=round(self.build_seconds, 1),
            built_at=self.built_at,
            gpu=self.gpu,
            verified=self.smoke_test is not None,
            versions=self.versions,
            source_revision=self.source_revision,
        )


class StoreUsage(Frozen):
    """The volume of an engine store, as the build saw it at its end."""

    total_bytes: int
    free_bytes: int
    """What an unprivileged process can still write."""
    engines: int
    """Engines that stand in it."""


class ManifestSummary(Frozen):
    """The part of a manifest that fits a termination message and stands in the Engine's status."""

    key: str
    manifest_digest: str
    size_bytes: int
    build_seconds: float
    built_at: str
    gpu: str | None = None
    verified: bool = False
    versions: dict[str, str] = Field(default_factory=dict)
    source_revision: str | None = None
    artifact: str | None = None
    """Repository and digest of the engine in a registry; None on a volume."""


class RuntimeFacts(Frozen):
    """What a pod is: its toolchain, and the GPU product it sees (None on CPU)."""

    toolchain: Toolchain
    accelerator: Accelerator | None = None


def limits_text(build: BuildFlags) -> str:
    """The limits of an engine in a few words, for columns and logs."""
    return f"in{build.max_input_len}/out{build.max_output_len}/batch{build.max_batch_size}/{build.kv_layout}"
