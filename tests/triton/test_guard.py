"""The guard before a real server: readiness from a real inference, a dead stub found out, the body limit, a drain that loses nothing."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from tests.triton.server import TritonServer, http_call, outputs_of, prompt_body
from tests.triton.servers import LONG_OUTPUT, LONG_PARAMETERS, MakeServer
from vertical_engines.guard.settings import Settings
from vertical_engines.guard.sidecar import Addresses, Sidecar

pytestmark = pytest.mark.triton

QUICK = {"canary_interval": 0.3, "retry_interval": 0.1, "lame": 0.2, "quiet": 0.2, "idle": 0.2, "drain_max": 30.0}


class Guard:
    """A running guard in this process and calls to its two ports, made in threads."""

    def __init__(self, *, http: int, admin: int) -> None:
        self.http, self.admin = http, admin

    async def infer(self, body: bytes) -> tuple[int, str]:
        return await asyncio.to_thread(http_call, f"http://127.0.0.1:{self.http}/v2/models/generator/infer", body=body)

    async def ask(self, path: str) -> int:
        return (await asyncio.to_thread(http_call, f"http://127.0.0.1:{self.admin}{path}"))[0]

    async def state(self) -> dict[str, object]:
        return dict(json.loads((await asyncio.to_thread(http_call, f"http://127.0.0.1:{self.admin}/state"))[1]))

    async def wait_for(self, path: str, status: int, *, seconds: float = 30.0) -> None:
        await until(lambda: self._gives(path, status), seconds=seconds)

    async def _gives(self, path: str, status: int) -> bool:
        return await self.ask(path) == status


async def until(condition: Callable[[], Awaitable[bool]], *, seconds: float = 30.0) -> None:
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110 - what is waited for is another process
            await asyncio.sleep(0.05)


@asynccontextmanager
async def guard_before(server: TritonServer, **changes: float) -> AsyncIterator[Guard]:
    ports = {"triton_http_port": server.http, "grpc_port": server.grpc, "metrics_port": server.metrics}
    settings = Settings(entrypoint="generator", model="generator", canary=None, **ports)
    sidecar = Sidecar(replace(settings, **{**QUICK, **changes}))
    http, admin = await sidecar.start(Addresses(host="127.0.0.1", http_port=0, admin_port=0))
    try:
        yield Guard(http=http, admin=admin)
    finally:
        await sidecar.stop()


async def test_it_is_ready_after_a_real_inference_and_passes_requests_on(inflight_server: TritonServer) -> None:
    before = inflight_server.metric("nv_inference_request_success", model="generator")
    async with guard_before(inflight_server) as guard:
        for path in ("/startupz", "/readyz"):
            await guard.wait_for(path, 200)
        status, text = await guard.infer(prompt_body("Hello", max_tokens=3))
    assert (status, outputs_of(text)["tokens"]) == (200, 3)
    assert inflight_server.metric("nv_inference_request_success", model="generator") >= before + 2


async def test_a_json_body_that_would_kill_the_server_is_refused_and_the_server_lives(inflight_server: TritonServer) -> None:
    async with guard_before(inflight_server) as guard:
        status, text = await guard.infer(b"[" + b"1," * 2_500_000 + b"1]")
        assert status == 413
        assert "binary extension" in json.loads(text)["error"]
        assert (await guard.infer(prompt_body("Alive", max_tokens=1)))[0] == 200


async def test_a_drain_waits_for_the_request_at_work_and_ends_connections(inflight_server: TritonServer) -> None:
    async with guard_before(inflight_server) as guard:
        await guard.wait_for("/readyz", 200)
        request = asyncio.ensure_future(guard.infer(prompt_body("Once upon a time", max_tokens=LONG_OUTPUT)))
        await until(lambda: _busy(guard))
        drain = asyncio.ensure_future(guard.ask("/drain"))
        await guard.wait_for("/readyz", 503)
        assert await guard.ask("/livez") == 200
        assert not drain.done(), "it did not wait"
        status, text = await request
        assert status == 200
        assert outputs_of(text)["tokens"] == LONG_OUTPUT
        assert await drain == 200
        assert (await guard.state())["httpInUse"] == 0


async def test_a_killed_stub_is_dead_to_the_guard_while_triton_calls_itself_ready(make_server: MakeServer) -> None:
    server = make_server("paged")
    async with guard_before(server) as guard:
        await guard.wait_for("/readyz", 200)
        (stub,) = server.stubs()
        os.kill(stub, signal.SIGKILL)
        await guard.wait_for("/livez", 503)
        assert await guard.ask("/readyz") == 503
        assert server.get("/v2/health/ready")[0] == 200, "the server's own health would have done"
        assert "not healthy" in str((await guard.state())["why"])
        # nothing to drain: the container is replaced at once
        async with asyncio.timeout(10):
            assert await guard.ask("/drain") == 200
    server.kill()  # with a dead stub it would not end by itself


async def test_callers_of_a_killed_stub_are_set_free_when_the_server_is_replaced(make_server: MakeServer) -> None:
    server = make_server("paged", parameters=LONG_PARAMETERS)
    async with guard_before(server, canary_interval=1.0) as guard:
        await guard.wait_for("/readyz", 200)
        callers = [asyncio.ensure_future(guard.infer(prompt_body("Once upon a time", max_tokens=LONG_OUTPUT))) for _ in range(3)]
        await until(lambda: _generating(server, 3))  # one of them may be a canary
        (stub,) = server.stubs()
        os.kill(stub, signal.SIGKILL)
        await guard.wait_for("/livez", 503)
        assert not all(caller.done() for caller in callers), "Triton fails the requests of a dead stub by now"
        server.kill()
        assert 502 in [status for status, _ in await asyncio.gather(*callers)]
        await guard.wait_for("/livez", 200)
        assert await guard.ask("/readyz") == 503
        assert (await guard.infer(prompt_body("Nobody", max_tokens=1)))[0] == 503


async def _busy(guard: Guard) -> bool:
    return (await guard.state())["httpInUse"] == 1


async def _generating(server: TritonServer, count: int) -> bool:
    return await asyncio.to_thread(server.metric, "vertical_generator_live_requests") >= count
