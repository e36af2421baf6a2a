"""The POI-matching pipeline in a real server, as a pod assembles it: real encoder, real SLM, typed client over both protocols."""

import json
import random
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import urllib3

import verticals.poi_matching
from tests.support.serving import MODEL, assemble, make_config, make_places, make_plan
from tests.triton.conftest import BuiltEngine
from tests.triton.server import TritonServer, http_call
from tests.triton.servers import Engines, encoder_weights
from vertical_engines.client import VerticalClient, VerticalError
from vertical_engines.contract.engine import KvLayout, short_key
from vertical_engines.contract.serving import CANARY_NAME
from vertical_engines.sdk import ErrorCode
from vertical_engines.sdk.testing import FakeInferenceError, FakePbUtils
from vertical_engines.sdk.testing.config import read_config
from verticals.poi_matching.make_index import make_index
from verticals.poi_matching.schemas import BlsRequest, BlsResponse
from verticals.poi_matching.synthesis.places import listed_and_unlisted
from verticals.poi_matching.synthesis.receipts import Noise, make_receipt

pytestmark = pytest.mark.triton

ENTRY = "poi_matching_bls"
PACKAGE = Path(verticals.poi_matching.__file__).parent
LAYOUTS: tuple[KvLayout, ...] = ("contiguous", "paged")

Client = VerticalClient[BlsRequest, BlsResponse]


def serve(built: BuiltEngine, layout: KvLayout, folder: Path) -> TritonServer:
    """A started server over a repository that the real assembler made from the pipeline's own files."""
    places = make_places(folder)
    shutil.copytree(PACKAGE / "models", places.pipeline, dirs_exist_ok=True)
    make_index(weights=encoder_weights(), models=places.pipeline)
    plan = make_plan(built.manifest, entrypoint=ENTRY, response_cache_models=[MODEL], parameters={"variant": layout})
    assert assemble(plan, make_config(built.manifest, store=built.store), places=places, store=built.store) == (0, "")
    # In the image the package is on the module path of every stub; here the model's own folder stands in for that path.
    skip = shutil.ignore_patterns("models", "tests", "data", "synthesis", "__pycache__")
    shutil.copytree(PACKAGE, places.repository / ENTRY / "1" / "poi_matching", ignore=skip)
    server = TritonServer(repository=places.repository, folder=folder, options=["--cache-config=local,size=16777216"])
    server.start()
    return server


@pytest.fixture(scope="module", params=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> KvLayout:
    chosen: KvLayout = request.param
    return chosen


@pytest.fixture(scope="module")
def built(smollm2_engine: Engines, layout: KvLayout) -> BuiltEngine:
    return smollm2_engine(layout)


@pytest.fixture(scope="module")
def server(built: BuiltEngine, layout: KvLayout, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TritonServer]:
    running = serve(built, layout, tmp_path_factory.mktemp(f"poi-{layout}"))
    yield running
    running.stop()


@pytest.fixture(params=["http", "grpc"])
def client(request: pytest.FixtureRequest, server: TritonServer) -> Iterator[Client]:
    port = server.http if request.param == "http" else server.grpc
    with VerticalClient(f"{request.param}://127.0.0.1:{port}", request=BlsRequest, response=BlsResponse, model=ENTRY, timeout=60) as made:
        yield made


def test_noisy_receipts_find_their_places(client: Client, built: BuiltEngine, layout: KvLayout) -> None:
    rng, listed = random.Random(11), listed_and_unlisted()[0]
    issuers = [rng.choice(listed) for _ in range(12)]
    answers = [client.infer(make_receipt(place, rng=rng, noise=Noise())) for place in issuers]
    right = sum(answer.place_id == place.place_id for answer, place in zip(answers, issuers, strict=True))
    assert right >= 10
    assert {answer.engine for answer in answers} == {short_key(built.key)}
    assert {answer.variant for answer in answers} == {layout}
    assert all(answer.generated for answer in answers)
    assert all(len(answer.candidates) == 5 for answer in answers)


def test_an_unknown_place_is_not_matched(client: Client) -> None:
    answer = client.infer(BlsRequest(name="Zeppelin Hangar Museum", address=["3 Airfield Loop, Elsewhere"]))
    assert not answer.matched
    assert answer.place_id is None


def test_an_empty_receipt_is_refused_in_words(client: Client) -> None:
    with pytest.raises(VerticalError, match=r"^name, subname, biznum, address, tel: at least one must not be empty$") as caught:
        client.infer(BlsRequest.model_construct(name=" ", subname=None, biznum=None, address=None, tel=None))
    assert caught.value.code is ErrorCode.INVALID_ARG


def test_bytes_that_are_no_text_are_refused_by_their_field(server: TritonServer) -> None:
    header = json.dumps(
        {"inputs": [{"name": "name", "datatype": "BYTES", "shape": [1], "parameters": {"binary_data_size": 6}}]}, separators=(",", ":")
    ).encode()
    url = f"http://127.0.0.1:{server.http}/v2/models/{ENTRY}/infer"
    # A connection that stays open would hold the server back when it stops.
    with urllib3.PoolManager() as pool:
        answer = pool.request(
            "POST", url, body=header + b"\x02\x00\x00\x00\xff\xfe", headers={"Inference-Header-Content-Length": str(len(header))}
        )
    assert (answer.status, answer.json()) == (400, {"error": "name: not valid UTF-8"})


@pytest.mark.parametrize("letters", ["W8", "é", "漢", "😀"])
def test_the_longest_receipt_fits_the_slm(client: Client, letters: str) -> None:
    line = letters * (300 // len(letters))
    answer = client.infer(BlsRequest(name=line[:200], subname=line[:200], address=[line] * 10, tel=["5" * 300] * 10))
    assert answer.engine


def test_the_canary_is_answered_and_never_from_the_cache(server: TritonServer) -> None:
    template = (PACKAGE / "models" / ENTRY / CANARY_NAME).read_text()

    def hits() -> float:
        return server.metric("nv_cache_num_hits_per_model", model=MODEL)

    before = hits()
    for nonce in ("one", "two"):
        url = f"http://127.0.0.1:{server.http}/v2/models/{ENTRY}/infer"
        assert http_call(url, body=template.replace("{nonce}", nonce).encode())[0] == 200
    assert hits() == before


def test_the_same_receipt_is_generated_once(server: TritonServer, client: Client) -> None:
    receipt = BlsRequest(name="Copper Crane Grill", tel=["555 984 0001"])
    first = client.infer(receipt)
    before = server.metric("nv_cache_num_hits_per_model", model=MODEL)
    assert client.infer(receipt) == first
    assert server.metric("nv_cache_num_hits_per_model", model=MODEL) == before + 1


def test_many_at_once_are_all_answered(client: Client) -> None:
    receipts = [BlsRequest(name=f"Crane {number}", address=[f"{number} Oak Street"]) for number in range(16)]
    with ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(client.infer, receipts))) == 16


STRANGE: list[tuple[str, dict[str, Any]]] = [
    ("encoder", {}),
    ("generator", {}),
    (ENTRY, {"other": np.array(["x"], object)}),
    ("encoder", {"text": np.array(["x"], object), "more": np.array(["x"], object)}),
    ("generator", {name: np.array(["x"], object) for name in ("prompt", "one", "two", "three")}),
    (ENTRY, {"name": np.array([1.0])}),
    ("generator", {"prompt": np.array(["x"], object), "max_tokens": np.array([1], np.int64)}),
    (ENTRY, {"name": np.array(["x", "y"], object)}),
    (ENTRY, {"name": np.array([["x"]], object)}),
    ("encoder", {"text": np.array([["x"]], object)}),
    ("nobody", {"name": np.array(["x"], object)}),
]


@pytest.mark.parametrize(("model", "inputs"), STRANGE)
def test_the_fake_server_refuses_in_the_words_of_the_real_one(server: TritonServer, model: str, inputs: dict[str, Any]) -> None:
    body = {"inputs": [_json_tensor(name, array) for name, array in inputs.items()]}
    status, text = http_call(f"http://127.0.0.1:{server.http}/v2/models/{model}/infer", body=json.dumps(body).encode())
    with FakePbUtils() as fake:
        for name in (ENTRY, "encoder", MODEL):
            fake.load(object(), read_config(server.repository / name / "config.pbtxt"))
        with pytest.raises(FakeInferenceError) as caught:
            fake.infer(model, inputs)
    # The names that follow come in the order of a hash table.
    told, faked = (
        message.removeprefix("[request id: <id_unknown>] ").partition(" Got input(s) ")
        for message in (json.loads(text)["error"], caught.value.message)
    )
    assert (status, told[:2]) == (404 if caught.value.code is ErrorCode.NOT_FOUND else 400, faked[:2])
    assert sorted(told[2]) == sorted(faked[2])


def _json_tensor(name: str, array: Any) -> dict[str, Any]:
    kinds = {"O": "BYTES", "f": "FP64", "i": "INT64"}
    return {"name": name, "datatype": kinds[array.dtype.kind], "shape": list(array.shape), "data": array.ravel().tolist()}
