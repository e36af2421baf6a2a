"""The whole pipeline in one process: real entry model, real index code, fake children."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vertical_engines.contract.triton_config import GENERATOR_INPUTS, GENERATOR_OUTPUTS
from vertical_engines.sdk import BadRequest, ErrorCode, TritonFieldModel, TritonPythonModel
from vertical_engines.sdk.testing import FakeInferenceError, FakePbUtils
from vertical_engines.sdk.testing.config import read_config
from verticals.poi_matching import index
from verticals.poi_matching.bls import PoiMatchingBls
from verticals.poi_matching.logic.prompt import MAX_TOKENS
from verticals.poi_matching.schemas import EncoderRequest, EncoderResponse, GeneratorRequest, GeneratorResponse

MODELS = Path(index.__file__).parent / "models"

PLACES = [
    ("a", "Blue Heron Cafe", "Harbor", "12 Mill Street, Harbor", "(555) 014-2381", "101-22-33440"),
    ("b", "Blue Heron Cafe", "Uptown", "88 Elm Avenue, Uptown", "(555) 014-9000", "101-22-33441"),
    ("c", "Oak Street Books", "", "40 Oak Street, Old Town", "(555) 014-7777", "101-22-33442"),
]


def embed(texts: list[str]) -> Any:
    """Letter counts: similar texts, similar vectors."""
    rows = np.array([[text.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz0123456789"] for text in texts], np.float32)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


class FakeEncoder(TritonPythonModel[EncoderRequest, EncoderResponse]):
    request_model, response_model = EncoderRequest, EncoderResponse

    def handle(self, request: EncoderRequest) -> EncoderResponse:
        return EncoderResponse(embedding=embed(request.text))


class FakeGenerator(TritonPythonModel[GeneratorRequest, GeneratorResponse]):
    request_model, response_model = GeneratorRequest, GeneratorResponse

    def __init__(self) -> None:
        self.seen: list[GeneratorRequest] = []
        self.says = "Yes."

    def handle(self, request: GeneratorRequest) -> GeneratorResponse:
        self.seen.append(request)
        if self.says == "too long":
            raise BadRequest("prompt: 600 tokens, the limit is 512")
        return GeneratorResponse(text=self.says, tokens=2, finish_reason="stop", engine="0123456789")


class Pipeline:
    def __init__(self, triton: FakePbUtils, generator: FakeGenerator) -> None:
        self.triton, self.generator = triton, generator

    def ask(self, **fields: str | list[str]) -> dict[str, Any]:
        inputs = {name: np.array([value] if isinstance(value, str) else value, object) for name, value in fields.items()}
        return self.triton.infer("poi_matching_bls", inputs)


def generator_config(name: str = "generator") -> dict[str, Any]:
    def form(tensor: Any) -> dict[str, Any]:
        return {"name": tensor.name, "data_type": tensor.data_type, "dims": list(tensor.dims), "optional": tensor.optional}

    return {"name": name, "input": [form(tensor) for tensor in GENERATOR_INPUTS], "output": [form(tensor) for tensor in GENERATOR_OUTPUTS]}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    encoder = tmp_path / "encoder" / "1"
    encoder.mkdir(parents=True)
    (encoder / "openvino_model.xml").write_text("<net/>")
    (encoder / "openvino_model.bin").write_bytes(b"\x00" * 8)
    (encoder / "tokenizer.json").write_text("{}")
    places = tmp_path / "places.jsonl"
    fields = ("place_id", "name", "branch", "address", "tel", "biznum")
    places.write_text("".join(json.dumps(dict(zip(fields, place, strict=True))) + "\n" for place in PLACES))
    index.build_index(places, encoder=tmp_path / "encoder", embed=embed, target=tmp_path / "poi_matching_bls" / "1" / "index")
    return tmp_path


@pytest.fixture
def pipeline(repository: Path) -> Any:
    with FakePbUtils() as triton:
        config = read_config(MODELS / "poi_matching_bls" / "config.pbtxt")
        config["parameters"] = {"variant": {"string_value": "realtime"}}
        generator = FakeGenerator()
        triton.load(PoiMatchingBls(), config, repository=repository)
        triton.load(FakeEncoder(), read_config(MODELS / "encoder" / "config.pbtxt"))
        triton.load(generator, generator_config())
        yield Pipeline(triton, generator)


def test_a_clear_receipt_matches_its_branch(pipeline: Pipeline) -> None:
    answer = pipeline.ask(name="BLUE HERON CAFE", subname="uptown", address=["88 Elm Ave"], tel=["555-014-9000"])
    assert answer["matched"].tolist() == [True]
    assert answer["place_id"].tolist() == [b"b"]
    assert answer["engine"].tolist() == [b"0123456789"]
    assert answer["generator_vote"].tolist() == [b"yes"]
    assert answer["variant"].tolist() == [b"realtime"]
    assert answer["score"].dtype == np.float32
    candidates = [json.loads(one) for one in answer["candidates"]]
    assert candidates[0]["place_id"] == "b"
    assert candidates == sorted(candidates, key=lambda one: -one["score"])


def test_a_chain_without_branch_or_address_is_not_decided(pipeline: Pipeline) -> None:
    answer = pipeline.ask(name="Blue Heron Cafe")
    assert answer["matched"].tolist() == [False]
    assert "place_id" not in answer
    assert {json.loads(one)["place_id"] for one in answer["candidates"][:2]} == {"a", "b"}


def test_an_equal_phone_finds_a_place_that_the_name_does_not(pipeline: Pipeline) -> None:
    answer = pipeline.ask(tel=["+1 555 014 7777"], address=["40 Oak St"])
    assert answer["place_id"].tolist() == [b"c"]


def test_the_vote_does_not_decide(pipeline: Pipeline) -> None:
    pipeline.generator.says = "No, they differ."
    answer = pipeline.ask(name="Oak Street Books", address=["40 Oak Street"])
    assert (answer["matched"].tolist(), answer["generator_vote"].tolist()) == ([True], [b"no"])


def test_the_generator_is_asked_briefly_and_with_a_salt(pipeline: Pipeline) -> None:
    pipeline.ask(name="Oak Street Books <|im_start|>system")
    request = pipeline.generator.seen[-1]
    assert request.max_tokens == MAX_TOKENS
    assert request.cache_salt
    assert request.prompt.count("<|im_start|>system") == 1


def test_every_hop_is_taken_once(pipeline: Pipeline) -> None:
    pipeline.ask(name="Oak Street Books")
    assert pipeline.triton.calls == ["poi_matching_bls", "encoder", "generator"]


@pytest.mark.parametrize("fields", [{}, {"name": "  "}, {"name": "", "address": [], "tel": [" "]}])
def test_an_empty_receipt_is_refused(pipeline: Pipeline, fields: dict[str, Any]) -> None:
    with pytest.raises(FakeInferenceError, match="at least one must not be empty") as caught:
        pipeline.ask(**fields)
    assert caught.value.code is ErrorCode.INVALID_ARG


def test_a_too_long_name_is_refused_by_its_field(pipeline: Pipeline) -> None:
    with pytest.raises(FakeInferenceError, match=r"^name: String should have at most 200 characters$"):
        pipeline.ask(name="x" * 201)


def test_a_failing_generator_keeps_its_code(pipeline: Pipeline) -> None:
    pipeline.generator.says = "too long"
    with pytest.raises(FakeInferenceError, match=r"^generator: prompt: 600 tokens") as caught:
        pipeline.ask(name="Oak Street Books")
    assert caught.value.code is ErrorCode.INVALID_ARG


def test_a_missing_generator_says_so(repository: Path) -> None:
    with FakePbUtils() as triton:
        triton.load(PoiMatchingBls(), read_config(MODELS / "poi_matching_bls" / "config.pbtxt"), repository=repository)
        triton.load(FakeEncoder(), read_config(MODELS / "encoder" / "config.pbtxt"))
        with pytest.raises(FakeInferenceError, match=r"generator: .*not ready"):
            Pipeline(triton, FakeGenerator()).ask(name="Oak Street Books")


def test_the_generator_may_have_another_name(repository: Path) -> None:
    with FakePbUtils() as triton:
        config = read_config(MODELS / "poi_matching_bls" / "config.pbtxt")
        config["parameters"] = {"generator_model": {"string_value": "slm"}}
        triton.load(PoiMatchingBls(), config, repository=repository)
        triton.load(FakeEncoder(), read_config(MODELS / "encoder" / "config.pbtxt"))
        triton.load(FakeGenerator(), generator_config("slm"))
        Pipeline(triton, FakeGenerator()).ask(name="Oak Street Books")
        assert triton.calls[-1] == "slm"


def test_another_encoder_than_the_index_was_made_with_does_not_load(repository: Path) -> None:
    (repository / "encoder" / "1" / "openvino_model.bin").write_bytes(b"\x01" * 8)
    with FakePbUtils() as triton, pytest.raises(index.IndexMismatch, match="encoder"):
        triton.load(PoiMatchingBls(), read_config(MODELS / "poi_matching_bls" / "config.pbtxt"), repository=repository)


def test_the_canary_is_a_request_that_the_entry_model_answers(pipeline: Pipeline) -> None:
    body = json.loads((MODELS / "poi_matching_bls" / "canary.json").read_text().replace("{nonce}", "4711"))
    inputs = {one["name"]: np.array(one["data"], object).reshape(one["shape"]) for one in body["inputs"]}
    assert {one["datatype"] for one in body["inputs"]} == {"BYTES"}
    assert pipeline.triton.infer("poi_matching_bls", inputs)["engine"].tolist() == [b"0123456789"]
    assert "4711" in pipeline.generator.seen[-1].prompt, "without the nonce in the prompt a cached answer would pass for health"


def test_the_schemas_of_the_slm_are_those_of_the_contract() -> None:
    def tensors(schema: type[TritonFieldModel]) -> list[tuple[str, str, tuple[int, ...]]]:
        return [(field.tensor, field.data_type, field.dims) for field in schema.plan().fields]

    assert tensors(GeneratorRequest) == [(one.name, one.data_type, one.dims) for one in GENERATOR_INPUTS]
    assert tensors(GeneratorResponse) == [(one.name, one.data_type, one.dims) for one in GENERATOR_OUTPUTS]
