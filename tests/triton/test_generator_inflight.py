"""The background variant in a real server: requests join a running batch, leave it when their caller does, and all get an answer."""

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest
import tritonclient.grpc

from tests.triton.server import TritonServer, http_call, outputs_of, prompt_body
from tests.triton.servers import LONG_OUTPUT, LONG_PARAMETERS, MakeServer

pytestmark = pytest.mark.triton

LIVE = "vertical_generator_live_requests"


def infer(server: TritonServer, body: bytes) -> tuple[int, str]:
    return http_call(f"http://127.0.0.1:{server.http}/v2/models/generator/infer", body=body)


def wait_until(condition: Callable[[], bool], *, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.02)


def test_eight_callers_at_once_are_all_answered_in_one_batch(inflight_server: TritonServer) -> None:
    bodies = [prompt_body(f"Story number {number}: once upon a time", max_tokens=16) for number in range(8)]
    before = inflight_server.metric("nv_inference_request_success", model="generator")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda body: infer(inflight_server, body), bodies))
    assert [status for status, _ in answers] == [200] * 8
    outputs = [outputs_of(text) for _, text in answers]
    assert [(one["tokens"], one["finish_reason"]) for one in outputs] == [(16, "length")] * 8
    assert inflight_server.metric("nv_inference_request_success", model="generator") == before + 8


def test_a_short_request_overtakes_a_long_one(inflight_server: TritonServer) -> None:
    with ThreadPoolExecutor(1) as pool:
        long = pool.submit(infer, inflight_server, prompt_body("Once upon a time", max_tokens=LONG_OUTPUT))
        wait_until(lambda: inflight_server.metric(LIVE, model="generator") >= 1)
        assert infer(inflight_server, prompt_body("Short", max_tokens=2))[0] == 200
        assert not long.done(), "the short request waited for the long one"
        assert outputs_of(long.result()[1])["tokens"] == LONG_OUTPUT


def test_more_callers_than_places_wait_and_are_answered(inflight_server: TritonServer) -> None:
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda number: infer(inflight_server, prompt_body(f"{number} times", max_tokens=6)), range(20)))
    assert [status for status, _ in answers] == [200] * 20


def test_a_caller_that_goes_away_frees_its_place(inflight_server: TritonServer) -> None:
    wait_until(lambda: inflight_server.metric(LIVE, model="generator") == 0)
    tokens = inflight_server.metric("vertical_generator_tokens_total", model="generator")
    client = tritonclient.grpc.InferenceServerClient(f"127.0.0.1:{inflight_server.grpc}")
    prompt = tritonclient.grpc.InferInput("prompt", [1], "BYTES")
    prompt.set_data_from_numpy(numpy.array([b"Once upon a time"], dtype=object))
    most = tritonclient.grpc.InferInput("max_tokens", [1], "INT32")
    most.set_data_from_numpy(numpy.array([LONG_OUTPUT], dtype=numpy.int32))
    call = client.async_infer("generator", [prompt, most], callback=lambda result, error: None)
    wait_until(lambda: inflight_server.metric(LIVE, model="generator") == 1)
    call.cancel()
    wait_until(lambda: inflight_server.metric(LIVE, model="generator") == 0)
    client.close()
    assert inflight_server.metric("vertical_generator_tokens_total", model="generator") == tokens, "it was generated to its end"
    assert infer(inflight_server, prompt_body("Next", max_tokens=2))[0] == 200


def test_limits_hold_in_this_style_too(inflight_server: TritonServer) -> None:
    status, text = infer(inflight_server, prompt_body("hello " * 600))
    assert (status, json.loads(text)) == (400, {"error": "[INVALID_ARG] prompt: 601 tokens, max_input_len of this engine is 512"})


def test_a_server_that_is_ended_at_work_answers_first_and_ends_well(make_server: MakeServer) -> None:
    server = make_server("paged", parameters=LONG_PARAMETERS)
    with ThreadPoolExecutor(1) as pool:
        caller = pool.submit(infer, server, prompt_body("Once upon a time", max_tokens=LONG_OUTPUT))
        wait_until(lambda: server.metric(LIVE, model="generator") == 1)
        assert server.stop() == 0, server.log_tail()
        status, text = caller.result()
    assert status == 200
    assert outputs_of(text)["tokens"] == LONG_OUTPUT
