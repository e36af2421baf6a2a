"""A builder that takes milliseconds: copies a text model, and fails, waits or crawls where a test asks for it."""

import time
from collections.abc import Callable
from pathlib import Path

from vertical_engines.builders.building import build_engine
from vertical_engines.builders.protocol import SourceModel
from vertical_engines.contract.build import BuildRequest
from vertical_engines.contract.engine import BuildFlags, EngineIdentity, ImageSource, ModelSource, Toolchain
from vertical_engines.contract.manifest import Manifest, SmokeTest
from vertical_engines.progress import Say
from vertical_engines.store.volume import VolumeStore


def engine_request(revision: str = "1") -> BuildRequest:
    """A request whose key differs for each revision."""
    identity = EngineIdentity(
        source=ModelSource(image=ImageSource(reference="models:1", path="/models/small")),
        revision=revision,
        build=BuildFlags(max_input_len=512, max_output_len=32, max_seq_len=544, max_batch_size=1, kv_layout="contiguous"),
        toolchain=Toolchain(backend="OpenVINO", release="2026.4", image="vertical-engines-openvino:2026.4"),
    )
    return BuildRequest(key=identity.key(), identity=identity)


class StandInBuilder:
    """Keeps the order of calls in `calls`; `during` runs in the middle of a conversion, with half of the files written."""

    def __init__(self, *, during: Callable[[Path], None] | None = None, needed: int = 0) -> None:
        self.calls: list[str] = []
        self._during = during
        self._needed = needed

    def plan(self, identity: EngineIdentity, *, model: Path, folder: Path, scratch: Path) -> list[str]:
        return [f"copy {model} {folder}"]

    def check(self, identity: EngineIdentity, *, model: Path) -> SourceModel:
        self.calls.append("check")
        return SourceModel(description="a stand-in", files=(model / "model.txt",), needed=self._needed)

    def convert(self, source: SourceModel, *, identity: EngineIdentity, folder: Path, say: Say) -> None:
        self.calls.append("convert")
        text = source.files[0].read_text(encoding="utf-8")
        (folder / "weights.bin").write_text(text * 100, encoding="utf-8")
        if self._during:
            self._during(folder)
        (folder / "tokenizer").mkdir()
        (folder / "tokenizer" / "vocabulary.txt").write_text(identity.revision, encoding="utf-8")

    def smoke_test(self, identity: EngineIdentity, *, folder: Path, say: Say) -> SmokeTest:
        self.calls.append("smoke_test")
        return SmokeTest(prompt="a", text="b", tokens=1, seconds=0.0)

    def versions(self) -> dict[str, str]:
        return {"stand_in": "1"}

    def gpu(self) -> str | None:
        return None


def wait_for_ever(folder: Path) -> None:
    """For `during`: a conversion that only a signal ends. Says that it has begun."""
    (folder / "begun").touch()
    while True:
        time.sleep(60)


class Workplace:
    """A model, a store and the lines of progress of one test."""

    def __init__(self, folder: Path) -> None:
        self.model = folder / "model"
        self.root = folder / "store"
        self.model.mkdir(parents=True)
        self.root.mkdir()
        (self.model / "model.txt").write_text("weights\n", encoding="utf-8")
        self.lines: list[str] = []

    @property
    def store(self) -> VolumeStore:
        return VolumeStore(self.root, say=self.lines.append)

    def build(self, request: BuildRequest, builder: StandInBuilder | None = None) -> Manifest:
        builder = builder or StandInBuilder()
        return build_engine(request, builder=builder, model=self.model, store=self.store, say=self.lines.append)

    def leftovers(self) -> list[str]:
        scratch = self.root / ".tmp"
        return [path.name for path in scratch.iterdir()] if scratch.is_dir() else []
