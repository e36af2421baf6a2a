"""A real Triton server with the repository that an SLM on TensorRT-LLM gets; only the engine itself is a stand-in, for it needs a GPU."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.serving import MODEL, assemble, make_config, make_places, make_plan
from tests.support.stand_in_tensorrt_llm.installation import HERE, StandInMachine, identity, install, write_model
from tests.support.stand_in_tensorrt_llm.words import write_tokenizer
from tests.triton.server import TritonServer, http_call, outputs_of, prompt_body
from vertical_engines.builders.building import build_engine
from vertical_engines.builders.tensorrt_llm.engine_builder import TensorRtLlmBuilder
from vertical_engines.contract.build import BuildRequest
from vertical_engines.contract.serving import inner_models
from vertical_engines.contract.toolchains import release
from vertical_engines.progress import progress
from vertical_engines.store.volume import VolumeStore

pytestmark = pytest.mark.triton


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TritonServer]:
    folder = tmp_path_factory.mktemp("chain")
    wanted, row = identity("26.06", max_input_len=6, max_output_len=5, max_seq_len=11), release(backend="TensorRTLLM", name="26.06")
    assert row is not None
    model = write_model(folder / "model")
    write_tokenizer(model, pad_token_id=1)
    (folder / "store").mkdir()
    machine = StandInMachine(["NVIDIA A100-SXM4-80GB"], {"tensorrt_llm": row.versions["tensorrt_llm"]})
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("STAND_IN_VERSION", row.versions["tensorrt_llm"])
        builder = TensorRtLlmBuilder(machine=machine, programs=install(folder / "image", row))
        store = VolumeStore(folder / "store", say=progress())
        request = BuildRequest(key=wanted.key(), identity=wanted)
        manifest = build_engine(request, builder=builder, model=model, store=store, say=progress())
    places = make_places(folder / "pod")
    plan = make_plan(manifest, gpu_product="NVIDIA-A100-SXM4-80GB")
    assert assemble(plan, make_config(manifest, store=folder / "store"), places=places, store=folder / "store") == (0, "")
    stand_in(places.repository / inner_models(MODEL).engine, version=plan.model_version)
    started = TritonServer(repository=places.repository, folder=folder)
    started.start()
    yield started
    started.stop()


def stand_in(folder: Path, *, version: int) -> None:
    """The configuration stays as it is but for the backend's name."""
    config = folder / "config.pbtxt"
    text = config.read_text()
    assert 'backend: "tensorrtllm"' in text
    config.write_text(text.replace('backend: "tensorrtllm"', 'backend: "python"'))
    shutil.copy(HERE / "engine_model.py", folder / str(version) / "model.py")


def ask(server: TritonServer, prompt: str, **options: int) -> tuple[int, str]:
    return http_call(f"http://127.0.0.1:{server.http}/v2/models/{MODEL}/infer", body=prompt_body(prompt, **options))


def test_a_prompt_goes_through_all_three_models_and_comes_back_as_text(server: TritonServer) -> None:
    status, text = ask(server, "one two three")
    assert status == 200, text
    answer = outputs_of(text)
    assert (answer["text"], answer["tokens"], answer["finish_reason"]) == ("three two one", 4, "stop")
    assert len(answer["engine"]) == 10


def test_an_answer_that_is_cut_off_says_so(server: TritonServer) -> None:
    answer = outputs_of(ask(server, "one two three", max_tokens=2)[1])
    assert (answer["text"], answer["tokens"], answer["finish_reason"]) == ("three two", 2, "length")


@pytest.mark.parametrize(
    ("prompt", "options", "words"),
    [
        ("one two three four five six seven", {}, "prompt: 7 tokens, max_input_len of this engine is 6"),
        ("one", {"max_tokens": 6}, "max_tokens: 6, max_output_len of this engine is 5"),
        ("", {}, "prompt: it is empty"),
    ],
)
def test_limits_are_those_of_every_backend_in_the_same_words(
    server: TritonServer, prompt: str, options: dict[str, int], words: str
) -> None:
    status, text = ask(server, prompt, **options)
    assert status == 400
    assert f"[INVALID_ARG] {words}" in text


def test_requests_overlap_and_none_is_lost(server: TritonServer) -> None:
    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda number: ask(server, ("one two three four five " * 2).split()[number % 5]), range(200)))
    assert [status for status, _ in answers] == [200] * 200
    assert server.metric("nv_inference_request_success", model=inner_models(MODEL).engine) >= 200
