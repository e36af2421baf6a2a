"""The guard's own requests to Triton: one canary, and the count of answered requests."""

import asyncio
import itertools
import json
import secrets
from dataclasses import dataclass
from typing import Literal

from vertical_engines.guard.http_head import HEAD_LIMIT, BadMessage, Body, read_head, response_body, status_of
from vertical_engines.guard.http_relay import relay
from vertical_engines.guard.settings import Settings

HOST = "127.0.0.1"
ANSWER_LIMIT = 16 * 1024 * 1024
WORDS_LIMIT = 300
METRICS_TIMEOUT = 2.0
SUCCESS_METRIC = b"nv_inference_request_success{"

Kind = Literal["answered", "error", "objection", "busy", "absent"]


@dataclass(frozen=True)
class Outcome:
    """How a canary ended, and the server's words about it."""

    kind: Kind
    why: str = ""


class Canary:
    """Each one has another nonce, so that no response cache can answer it."""

    def __init__(self, settings: Settings) -> None:
        self._port = settings.triton_http_port
        own = settings.canary is not None
        self._path = f"/v2/models/{settings.entrypoint if own else settings.model}/infer"
        self._template = settings.canary or generator_canary()
        self._run = secrets.token_hex(4)
        self._numbers = itertools.count()

    async def send(self) -> Outcome:
        """Waits for as long as the server needs: it would go on with an abandoned canary all the same."""
        body = self._template.replace("{nonce}", f"{self._run}{next(self._numbers):08x}").encode()
        try:
            status, answer = await http_request("POST", self._path, port=self._port, body=body)
        except (OSError, EOFError, BadMessage) as error:
            return Outcome("absent", f"no answer from Triton: {type(error).__name__}")
        return judge(status, answer)


def judge(status: int, answer: bytes) -> Outcome:
    """An answer without outputs is a failure that the response cache has kept."""
    try:
        document = json.loads(answer)
    except ValueError:
        document = None
    content = document if isinstance(document, dict) else {}
    words = str(content.get("error") or answer[:WORDS_LIMIT].decode(errors="replace"))[:WORDS_LIMIT]
    if status == 200:
        return Outcome("answered") if content.get("outputs") else Outcome("error", "the canary's answer has no outputs")
    if status == 503:
        return Outcome("busy", words)
    return Outcome("objection" if 400 <= status < 500 else "error", f"HTTP {status}: {words}")


def generator_canary() -> str:
    """A prompt of a few tokens for the SLM, one token to generate."""
    prompt = {"name": "prompt", "datatype": "BYTES", "shape": [1], "data": ["ping {nonce}"]}
    most = {"name": "max_tokens", "datatype": "INT32", "shape": [1], "data": [1]}
    return json.dumps({"inputs": [prompt, most]})


async def count_successes(settings: Settings) -> int | None:
    """Requests that all models have answered since the server started; None when the metrics can't be read."""
    try:
        status, text = await asyncio.wait_for(http_request("GET", "/metrics", port=settings.metrics_port), METRICS_TIMEOUT)
    except (OSError, EOFError, BadMessage, asyncio.TimeoutError):
        return None
    return parse_successes(text) if status == 200 else None


def parse_successes(text: bytes) -> int:
    """The sum over all models and versions."""
    return sum(int(float(line.rsplit(b" ", 1)[1])) for line in text.splitlines() if line.startswith(SUCCESS_METRIC))


async def http_request(method: str, path: str, *, port: int, body: bytes = b"") -> tuple[int, bytes]:
    """One request on a connection of its own: status and body. Raises OSError, EOFError or BadMessage."""
    reader, writer = await asyncio.open_connection(HOST, port, limit=HEAD_LIMIT)
    try:
        head = f"{method} {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        answer = await read_head(reader)
        if answer is None:
            raise EOFError("closed without an answer")
        content = _Content()
        await relay(reader, content, body=_known(response_body(answer, method=method.encode())))
        return status_of(answer), bytes(content.data)
    finally:
        writer.close()


def _known(body: Body) -> Body:
    if body.length > ANSWER_LIMIT:
        raise BadMessage("the answer is too large")
    return body


class _Content:
    """Collects a body; framing is left out."""

    def __init__(self) -> None:
        self.data = bytearray()

    async def take(self, piece: bytes, *, content: int) -> None:
        if content:
            self.data += piece
        if len(self.data) > ANSWER_LIMIT:
            raise BadMessage("the answer is too large")
