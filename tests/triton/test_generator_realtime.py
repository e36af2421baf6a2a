"""The realtime variant in a real server: answers, limits in words, response cache, encoder beside it."""

import json

import numpy
import pytest

from tests.triton.conftest import BuiltEngine
from tests.triton.server import TritonServer, http_call, outputs_of, prompt_body
from tests.triton.servers import Engines, encoder_weights
from vertical_engines.contract.engine import model_version, short_key
from vertical_engines.models.sentence_encoder import SentenceEncoder

pytestmark = pytest.mark.triton


@pytest.fixture(scope="module")
def built(smollm2_engine: Engines) -> BuiltEngine:
    return smollm2_engine("contiguous")


def infer(server: TritonServer, body: bytes, *, model: str = "generator") -> tuple[int, str]:
    return http_call(f"http://127.0.0.1:{server.http}/v2/models/{model}/infer", body=body)


def test_an_answer_has_every_output_and_names_the_engine(realtime_server: TritonServer, built: BuiltEngine) -> None:
    status, text = infer(realtime_server, prompt_body("The capital of France is", max_tokens=8))
    assert status == 200
    answer = outputs_of(text)
    assert set(answer) == {"text", "tokens", "finish_reason", "engine"}
    assert answer["tokens"] == 8
    assert answer["finish_reason"] == "length"
    assert answer["engine"] == short_key(built.key)
    assert answer["text"].strip()
    assert json.loads(text)["model_version"] == str(model_version(built.key))


def test_without_max_tokens_the_limit_of_the_engine_holds(realtime_server: TritonServer) -> None:
    answer = outputs_of(infer(realtime_server, prompt_body("Count for ever: 1 2 3 4 5 6 7 8 9 10 11 12"))[1])
    assert 1 <= answer["tokens"] <= 32
    assert answer["finish_reason"] == ("length" if answer["tokens"] == 32 else "stop")


def test_a_prompt_that_asks_for_an_end_gets_finish_reason_stop(realtime_server: TritonServer) -> None:
    prompt = "<|im_start|>user\nWhat is 2+2? Answer with one number.<|im_end|>\n<|im_start|>assistant\n"
    answer = outputs_of(infer(realtime_server, prompt_body(prompt))[1])
    assert answer["finish_reason"] == "stop"
    assert "<|im_end|>" not in answer["text"]


REFUSED = {
    "prompt too long": (prompt_body("hello " * 600), "prompt: 601 tokens, max_input_len of this engine is 512"),
    "prompt of a megabyte": (prompt_body("a" * 1_000_000), "prompt: at least 12346 tokens, max_input_len of this engine is 512"),
    "empty prompt": (prompt_body(""), "prompt: it is empty, at least 1 token is needed"),
    "too many tokens asked": (prompt_body("x", max_tokens=33), "max_tokens: 33, max_output_len of this engine is 32"),
    "no token asked": (prompt_body("x", max_tokens=0), "max_tokens: 0, at least 1 is needed"),
    "no prompt": (
        json.dumps({"inputs": [{"name": "max_tokens", "datatype": "INT32", "shape": [1], "data": [3]}]}).encode(),
        "prompt: this input is required",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_request_over_a_limit_is_refused_with_field_number_and_limit(realtime_server: TritonServer, case: str) -> None:
    body, message = REFUSED[case]
    status, text = infer(realtime_server, body)
    assert (status, json.loads(text)) == (400, {"error": f"[INVALID_ARG] {message}"})


def test_the_response_cache_answers_equal_requests_and_only_those(realtime_server: TritonServer) -> None:
    hits = realtime_server.metric("nv_cache_num_hits_per_model", model="generator")
    first, second = (infer(realtime_server, prompt_body("Rome is the capital of", max_tokens=4, salt=1)) for _ in range(2))
    assert first[0] == second[0] == 200
    assert outputs_of(first[1]) == outputs_of(second[1])
    assert realtime_server.metric("nv_cache_num_hits_per_model", model="generator") == hits + 1
    assert infer(realtime_server, prompt_body("Rome is the capital of", max_tokens=4, salt=2))[0] == 200
    assert realtime_server.metric("nv_cache_num_hits_per_model", model="generator") == hits + 1


def test_generated_tokens_are_counted_among_the_servers_metrics(realtime_server: TritonServer) -> None:
    before = realtime_server.metric("vertical_generator_tokens_total", model="generator")
    assert infer(realtime_server, prompt_body("Tokens are counted", max_tokens=5))[0] == 200
    assert 1 <= realtime_server.metric("vertical_generator_tokens_total", model="generator") - before <= 5


def encode(server: TritonServer, texts: list[str]) -> tuple[int, str]:
    body = {"inputs": [{"name": "text", "datatype": "BYTES", "shape": [len(texts)], "data": texts}]}
    return infer(server, json.dumps(body).encode(), model="encoder")


def test_the_encoder_gives_one_row_a_text_as_it_does_outside_of_the_server(realtime_server: TritonServer) -> None:
    texts = ["Blue Bottle Coffee, 315 Linden Street", "blue bottle coffee linden st", "Tax office"]
    status, text = encode(realtime_server, texts)
    assert status == 200
    output = outputs_of(text)["embedding"]
    rows = numpy.array(output["data"]).reshape(output["shape"])
    assert rows.shape == (3, 384)
    assert rows[0] @ rows[1] > 0.7 > rows[0] @ rows[2]
    outside = SentenceEncoder(realtime_server.repository / "encoder" / "1").encode(texts)
    assert (rows * outside).sum(axis=1) == pytest.approx(1, abs=1e-3)


def test_the_encoder_refuses_no_text_and_too_many(realtime_server: TritonServer) -> None:
    status, text = encode(realtime_server, ["x"] * 257)
    assert (status, json.loads(text)["error"]) == (400, "[INVALID_ARG] text: 257 texts, from 1 to 256 can be encoded at once")
    assert encoder_weights().is_dir()
