"""Calls of both clients over both protocols against a server in this process: answers, errors, time-outs, silence."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, Protocol

import pytest

from tests.support.inference_server import Script, inference_server
from vertical_engines.client import AsyncVerticalClient, RequestTimeout, ServerUnreachable, VerticalClient, VerticalError
from vertical_engines.sdk import ErrorCode, TritonFieldModel, TritonType


class Question(TritonFieldModel):
    text: str
    lines: list[str] | None = None
    small: Annotated[int, TritonType("TYPE_INT8")] = 0


class Answer(TritonFieldModel):
    words: list[str]
    count: Annotated[int, TritonType("TYPE_INT32")]
    note: str | None = None


class Ask(Protocol):
    def __call__(self, url: str, work: str = "infer", *, timeout: float = 30.0, question: Question = ...) -> Any: ...


def ask_sync(url: str, work: str = "infer", *, timeout: float = 30.0, question: Question = Question(text="é")) -> Any:  # noqa: B008 - frozen
    with VerticalClient(url, request=Question, response=Answer, model="m", timeout=timeout) as client:
        return client.infer(question) if work == "infer" else client.ready()


def ask_async(url: str, work: str = "infer", *, timeout: float = 30.0, question: Question = Question(text="é")) -> Any:  # noqa: B008 - frozen
    async def call() -> Any:
        async with AsyncVerticalClient(url, request=Question, response=Answer, model="m", timeout=timeout) as client:
            return await (client.infer(question) if work == "infer" else client.ready())

    return asyncio.run(call())


@pytest.fixture(params=["http", "grpc"])
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[ask_sync, ask_async], ids=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    asker: Ask = request.param
    return asker


@pytest.fixture
def script() -> Script:
    return Script(outputs={"words": ("BYTES", ["a", "ü"]), "count": ("INT32", [2])})


@pytest.fixture
def url(script: Script, protocol: str) -> Iterator[str]:
    with inference_server(script, protocol) as address:
        yield address


def test_an_object_goes_out_and_an_object_comes_back(script: Script, url: str, ask: Ask) -> None:
    assert ask(url) == Answer(words=["a", "ü"], count=2)
    (seen,) = script.seen
    assert seen["path"] == "/v2/models/m/infer"
    assert seen["id"]
    assert seen["inputs"] == {"text": ("BYTES", [1]), "small": ("INT8", [1])}


def test_an_empty_list_is_sent(script: Script, url: str, ask: Ask) -> None:
    ask(url, question=Question(text="a", lines=[]))
    assert script.seen[0]["inputs"]["lines"] == ("BYTES", [0])


@pytest.mark.parametrize(
    ("told", "code", "message"),
    [
        ((ErrorCode.INVALID_ARG, "text: too long"), ErrorCode.INVALID_ARG, "text: too long"),
        ((ErrorCode.NOT_FOUND, "no such model"), ErrorCode.NOT_FOUND, "no such model"),
        ((ErrorCode.UNAVAILABLE, "no room"), ErrorCode.UNAVAILABLE, "no room"),
        ((ErrorCode.INTERNAL, "[INVALID_ARG] text: too long"), ErrorCode.INVALID_ARG, "text: too long"),
        ((ErrorCode.INVALID_ARG, "[request id: 4711] unexpected input"), ErrorCode.INVALID_ARG, "unexpected input"),
    ],
)
def test_an_error_has_the_servers_code_and_words(
    script: Script, url: str, ask: Ask, told: tuple[ErrorCode, str], code: ErrorCode, message: str
) -> None:
    script.failure = told
    with pytest.raises(VerticalError) as caught:
        ask(url)
    assert (caught.value.code, caught.value.message) == (code, message)
    assert not isinstance(caught.value, RequestTimeout | ServerUnreachable)


def test_a_silent_server_is_a_time_out(script: Script, url: str, ask: Ask) -> None:
    script.silent = threading.Event()
    with pytest.raises(RequestTimeout):
        ask(url, timeout=0.2)
    script.silent.set()
    assert len(script.seen) <= 1, "a request must not be sent twice"


def test_a_closed_port_is_unreachable(protocol: str, ask: Ask) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        with pytest.raises(ServerUnreachable):
            ask(f"{protocol}://127.0.0.1:{held.getsockname()[1]}", timeout=5)


def test_an_answer_that_does_not_fit_is_an_error_that_names_the_field(script: Script, url: str, ask: Ask) -> None:
    script.outputs.pop("count")
    with pytest.raises(VerticalError, match="m answered with count: Field required"):
        ask(url)


def test_a_request_that_does_not_fit_is_not_sent(script: Script, url: str, ask: Ask) -> None:
    with pytest.raises(VerticalError, match="small: 300 is out of the range of TYPE_INT8"):
        ask(url, question=Question(text="a", small=300))
    assert script.seen == []


@pytest.mark.parametrize("ready", [True, False])
def test_ready_is_what_the_server_says(script: Script, url: str, ask: Ask, ready: bool) -> None:
    script.ready = ready
    assert ask(url, "ready") is ready


@pytest.mark.parametrize(("page", "code"), [((502, b"<html>Bad gateway</html>"), ErrorCode.UNAVAILABLE), ((500, b""), ErrorCode.INTERNAL)])
def test_the_page_of_a_proxy_is_an_error_too(script: Script, ask: Ask, page: tuple[int, bytes], code: ErrorCode) -> None:
    script.page = page
    with inference_server(script, "http") as url, pytest.raises(VerticalError) as caught:
        ask(url)
    assert caught.value.code is code


def test_threads_may_share_a_client(script: Script, url: str) -> None:
    with VerticalClient(url, request=Question, response=Answer, model="m") as client, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: client.infer(Question(text=str(number))), range(40)))
    assert len(answers) == len({seen["id"] for seen in script.seen}) == 40
