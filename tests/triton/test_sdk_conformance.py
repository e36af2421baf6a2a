"""The SDK in a real server: every case of the conformance module as in the fake one, and what only a real server shows."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tritonclient.grpc

from tests.cluster.waiting import eventually
from tests.triton.server import TritonServer
from vertical_engines.sdk import ErrorCode
from vertical_engines.sdk.testing.conformance import Case, Run, cases, differences, fake_run, real_run, text, write_repository
from vertical_engines.sdk.testing.conformance_models import ASKED, ENDED

pytestmark = pytest.mark.triton


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TritonServer]:
    folder = tmp_path_factory.mktemp("conformance")
    write_repository(folder / "models")
    running = TritonServer(repository=folder / "models", folder=folder, options=["--cache-config=local,size=1048576"])
    running.start()
    yield running
    running.stop()


@pytest.fixture
def real(server: TritonServer) -> Iterator[Run]:
    with real_run(f"127.0.0.1:{server.grpc}") as run:
        yield run


def test_the_fake_server_differs_from_the_real_one_nowhere(real: Run) -> None:
    with fake_run() as fake:
        assert differences(cases(), fake=fake, real=real) == []


def test_requests_that_triton_puts_together_fail_and_succeed_apart(real: Run) -> None:
    asked = [Case(word, "gathering", {"text": text(word).reshape(1, 1)}) for word in ("a", "b", "bad", "x" * 21)]
    with ThreadPoolExecutor(4) as pool:
        one, two, bad, long = pool.map(real, asked)
    # The row that is no valid one does not reach the handler.
    assert [{name: values for name, _, values in outcome.outputs}["number"] for outcome in (one, two)] == [[[3]], [[3]]]
    assert (bad.code, long.code) == (ErrorCode.INVALID_ARG, ErrorCode.INVALID_ARG)


def test_a_failure_that_the_response_cache_kept_is_asked_for_again(server: TritonServer, real: Run) -> None:
    case = Case("flaky", "flaky_caller", {"text": text("once")})
    assert real(case).code is ErrorCode.UNAVAILABLE
    second = real(case)
    assert ("number", "int32", [2]) in second.outputs, "the kept failure was taken for an answer"
    assert real(case) == second
    assert server.metric("nv_cache_num_hits_per_model", model="flaky") == 2


def test_after_a_cancellation_no_child_is_called(server: TritonServer) -> None:
    def called() -> float:
        return server.metric("nv_inference_request_success", model="child")

    before, folder, done = called(), server.repository / "patient", threading.Event()
    with tritonclient.grpc.InferenceServerClient(f"127.0.0.1:{server.grpc}") as client:
        tensor = tritonclient.grpc.InferInput("text", [1], "BYTES")
        tensor.set_data_from_numpy(np.array(["x"], object))
        call = client.async_infer("patient", [tensor], callback=lambda result, error: done.set())
        eventually("the request is being answered", (folder / ASKED).exists)
        call.cancel()
        assert done.wait(30)
    eventually("the answer is given up", (folder / ENDED).exists)
    assert (folder / ENDED).read_text() == "cancelled by the client before child was called"
    assert called() == before
