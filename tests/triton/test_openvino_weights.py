"""The demo's model in every kind of weights, from GGUF and from safetensors; and the profile in which each way of serving answers alike."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import openvino_genai
import pytest

from tests.support.unpacked_gguf import unpack
from tests.triton.conftest import smollm2_request
from vertical_engines.builders.building import build_engine
from vertical_engines.builders.openvino import OpenVinoBuilder
from vertical_engines.contract.build import BuildRequest
from vertical_engines.contract.engine import Weights
from vertical_engines.contract.manifest import Manifest
from vertical_engines.models.kv_memory import PrefixCache
from vertical_engines.models.limits import Limits
from vertical_engines.models.openvino_loading import Loading
from vertical_engines.models.openvino_pipelines import ContiguousGenerator, PagedBatch
from vertical_engines.models.ticket import Generated, Ticket
from vertical_engines.store.volume import VolumeStore
from vertical_operator.api.v1alpha1.openvino import OpenVinoSettings

pytestmark = pytest.mark.slow

PROMPTS = (
    "The capital of France is",
    "Receipt: COPPR CRANE GRIL, 12.50. The name of the place is",
    "Once upon a time there was a small",
    "def add(a, b):\n    return",
)
TOKENS = 20

Build = Callable[[Path, Weights], tuple[Path, Manifest]]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory, smollm2_gguf: Path) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint") / "model"
    unpack(smollm2_gguf, folder)
    return folder


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Build once for each source and kind of weights; gives the engine's folder and manifest."""
    built: dict[tuple[Path, Weights], tuple[Path, Manifest]] = {}

    def engine(model: Path, weights: Weights) -> tuple[Path, Manifest]:
        if (model, weights) not in built:
            store = tmp_path_factory.mktemp("store")
            identity = smollm2_request("contiguous").identity.model_copy(update={"weights": weights})
            request = BuildRequest(key=identity.key(), identity=identity)
            manifest = build_engine(request, builder=OpenVinoBuilder(), model=model, store=VolumeStore(store, say=print), say=print)
            built[model, weights] = store / request.key, manifest
        return built[model, weights]

    return engine


def test_a_checkpoint_and_a_gguf_of_one_model_give_the_same_engine(build: Build, checkpoint: Path, smollm2_gguf: Path) -> None:
    """To the byte, tokenizer and chat template too: whatever the road, nothing is lost, permuted or left out on it."""
    from_gguf, from_checkpoint = build(smollm2_gguf, "float16")[1], build(checkpoint, "float16")[1]
    assert from_gguf.files == from_checkpoint.files
    assert from_gguf.source_digest != from_checkpoint.source_digest
    assert from_gguf.versions["gguf"]


@pytest.mark.parametrize(("weights", "least", "most"), [("float16", 260, 275), ("int8", 138, 150), ("int4", 88, 100)])
def test_each_kind_of_weights_has_its_size_and_continues_a_text(
    build: Build, checkpoint: Path, weights: Weights, least: int, most: int
) -> None:
    folder, manifest = build(checkpoint, weights)
    assert manifest.identity.weights == weights
    assert least < (folder / "openvino_model.bin").stat().st_size / 1e6 < most
    pipeline = openvino_genai.LLMPipeline(str(folder), "CPU", ATTENTION_BACKEND="SDPA", INFERENCE_PRECISION_HINT="f32")
    text = pipeline.generate([PROMPTS[0]], max_new_tokens=5, do_sample=False, apply_chat_template=False).texts[0]
    assert "Paris" in text


def test_the_deterministic_profile_answers_alike_however_it_is_served(build: Build, smollm2_gguf: Path, tmp_path: Path) -> None:
    """Contiguous one by one, paged one by one, paged all together: the same tokens."""
    folder, _ = build(smollm2_gguf, "float16")
    parameters = {"engine_key": "k", **OpenVinoSettings(profile="Deterministic", compiled_cache=False).parameters()}
    loading = Loading.from_parameters(parameters, scratch=tmp_path, cached=False)
    contiguous = ContiguousGenerator(folder, loading=loading, ignore_end=True)
    limits = Limits(512, 32, 544, len(PROMPTS))
    paged = PagedBatch(folder, limits=limits, prefix=PrefixCache(True), loading=loading, tokens_per_step=256, ignore_end=True)
    tickets = [Ticket(contiguous.tokenizer.encode(prompt).input_ids, TOKENS, reply=None) for prompt in PROMPTS]  # type: ignore[arg-type]
    expected = [the(contiguous.generate(ticket, keep_going=lambda: True)) for ticket in tickets]
    assert len(set(expected)) == len(PROMPTS)
    assert [batch(paged, [ticket])[0] for ticket in tickets] == expected
    assert batch(paged, tickets) == expected


def batch(paged: PagedBatch, tickets: list[Ticket]) -> list[str]:
    handles: list[Any] = [paged.add(ticket) for ticket in tickets]
    results: list[Generated | None] = [None] * len(handles)
    while not all(results):
        paged.step()
        results = [result or paged.result(handle) for result, handle in zip(results, handles, strict=True)]
    return [the(result) for result in results]


def the(generated: Generated | None) -> str:
    assert generated
    assert generated.tokens == TOKENS
    return generated.text


def test_settings_are_taken_by_both_pipelines(build: Build, smollm2_gguf: Path, tmp_path: Path) -> None:
    """And a compiled blob is written where it was told to, never beside the engine."""
    folder, manifest = build(smollm2_gguf, "source")
    settings = OpenVinoSettings(inference_precision="f32", kv_cache_precision="f16", threads=1, compiled_cache=True)
    loading = Loading.from_parameters({"engine_key": "0123456789", **settings.parameters()}, scratch=tmp_path, cached=False)
    ContiguousGenerator(folder, loading=loading, ignore_end=False)
    assert list((tmp_path / "openvino-compiled" / "0123456789").iterdir())
    PagedBatch(folder, limits=Limits(512, 32, 544, 2), prefix=PrefixCache(False), loading=loading, tokens_per_step=256, ignore_end=False)
    assert {path.name for path in folder.iterdir()} == {*(file.path for file in manifest.files), "manifest.json"}
