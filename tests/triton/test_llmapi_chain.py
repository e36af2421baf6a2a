"""A real Triton server with the repository that an SLM on the LLM API gets; NVIDIA's llmapi model is a stand-in, for it needs a GPU."""

import shutil
from collections.abc import Iterator

import pytest

from tests.support.serving import MODEL, assemble, make_config, make_places, make_plan
from tests.support.stand_in_tensorrt_llm.installation import HERE, StandInMachine, identity, install, write_model
from tests.support.stand_in_tensorrt_llm.words import write_tokenizer
from tests.triton.server import TritonServer, http_call, outputs_of, prompt_body
from vertical_engines.builders.building import build_engine
from vertical_engines.builders.tensorrt_llm.pytorch_builder import TensorRtLlmPyTorchBuilder
from vertical_engines.contract.build import BuildRequest
from vertical_engines.contract.toolchains import release
from vertical_engines.contract.triton_config import ModelConfig, TensorConfig
from vertical_engines.progress import progress
from vertical_engines.store.volume import VolumeStore

pytestmark = pytest.mark.triton

NVIDIAS = ModelConfig(
    name="tensorrt_llm",
    inputs=(
        TensorConfig(name="text_input", data_type="TYPE_STRING", dims=(-1,)),
        TensorConfig(name="sampling_param_top_k", data_type="TYPE_INT32", optional=True),
        TensorConfig(name="sampling_param_max_tokens", data_type="TYPE_INT32", optional=True),
        TensorConfig(name="sampling_param_exclude_input_from_output", data_type="TYPE_BOOL", optional=True),
        TensorConfig(name="return_finish_reason", data_type="TYPE_BOOL", optional=True),
    ),
    outputs=(
        TensorConfig(name="text_output", data_type="TYPE_STRING", dims=(-1,)),
        TensorConfig(name="finish_reason", data_type="TYPE_STRING", dims=(-1,)),
        TensorConfig(name="stop_reason", data_type="TYPE_STRING", dims=(-1,)),
    ),
)
"""The part of the image's configuration that is used; names and types are the same from TensorRT-LLM 1.0 to 1.2.1."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TritonServer]:
    folder = tmp_path_factory.mktemp("llmapi")
    wanted = identity("26.06", backend="TensorRTLLMPyTorch", max_input_len=6, max_output_len=5, max_seq_len=11)
    row = release(backend="TensorRTLLMPyTorch", name="26.06")
    assert row is not None
    model = write_model(folder / "model")
    write_tokenizer(model)
    (folder / "store").mkdir()
    machine = StandInMachine(["NVIDIA A100-SXM4-80GB"], {"tensorrt_llm": row.versions["tensorrt_llm"]})
    builder = TensorRtLlmPyTorchBuilder(machine=machine, programs=install(folder / "image", row))
    request, store = BuildRequest(key=wanted.key(), identity=wanted), VolumeStore(folder / "store", say=progress())
    manifest = build_engine(request, builder=builder, model=model, store=store, say=progress())
    source = folder / "app"
    (source / "1").mkdir(parents=True)
    (source / "config.pbtxt").write_text(NVIDIAS.to_pbtxt())
    shutil.copy(HERE / "llmapi_model.py", source / "1" / "model.py")
    places = make_places(folder / "pod")
    plan = make_plan(manifest, gpu_product="NVIDIA-A100-SXM4-80GB")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vertical_engines.repository.llmapi.SOURCE", source)
        assert assemble(plan, make_config(manifest, store=folder / "store"), places=places, store=folder / "store") == (0, "")
    started = TritonServer(repository=places.repository, folder=folder)
    started.start()
    yield started
    started.stop()


def ask(server: TritonServer, prompt: str, **options: int) -> tuple[int, str]:
    return http_call(f"http://127.0.0.1:{server.http}/v2/models/{MODEL}/infer", body=prompt_body(prompt, **options))


def test_text_goes_in_and_comes_out(server: TritonServer) -> None:
    status, text = ask(server, "one two three")
    assert status == 200, text
    answer = outputs_of(text)
    assert (answer["text"], answer["tokens"], answer["finish_reason"]) == ("three two one", 3, "stop")


def test_an_answer_that_is_cut_off_says_so(server: TritonServer) -> None:
    answer = outputs_of(ask(server, "one two three four", max_tokens=2)[1])
    assert (answer["text"], answer["tokens"], answer["finish_reason"]) == ("four three", 2, "length")


@pytest.mark.parametrize(
    ("prompt", "options", "words"),
    [
        ("one two three four five six seven", {}, "prompt: 7 tokens, max_input_len of this engine is 6"),
        ("one", {"max_tokens": 6}, "max_tokens: 6, max_output_len of this engine is 5"),
    ],
)
def test_limits_are_checked_before_the_api_is_asked(server: TritonServer, prompt: str, options: dict[str, int], words: str) -> None:
    status, text = ask(server, prompt, **options)
    assert status == 400
    assert f"[INVALID_ARG] {words}" in text
