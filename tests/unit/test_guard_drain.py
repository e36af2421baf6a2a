"""The drain on its own and through the probe port; the count of gRPC connections from the kernel's table."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.support.stand_in_triton import quick_settings, stand_in_triton, until
from vertical_engines.guard.connections import count_connections
from vertical_engines.guard.drain import drain
from vertical_engines.guard.settings import Settings
from vertical_engines.guard.sidecar import Addresses, Sidecar
from vertical_engines.guard.triton import http_request

SETTINGS = Settings("entry", "generator", None, triton_http_port=1, grpc_port=1, metrics_port=1, lame=0.3, quiet=0.1, drain_max=5.0)


async def test_an_unused_pod_is_drained_after_the_lame_time() -> None:
    result = await drain(SETTINGS, in_use=lambda: 0, present=lambda: True)
    assert 0.3 <= result.seconds < 2
    assert result.left == 0


async def test_it_waits_until_nothing_was_in_use_for_the_quiet_time() -> None:
    looks = iter([2, 0, 1, 0, 0, 0])
    seen: list[int] = []

    def in_use() -> int:
        seen.append(next(looks, 0))
        return seen[-1]

    result = await drain(Settings(**{**SETTINGS.__dict__, "lame": 0.0}), in_use=in_use, present=lambda: True)
    assert seen[:4] == [2, 0, 1, 0], "it stopped at the first moment without a connection"
    assert result.left == 0


async def test_it_ends_at_its_limit_and_says_what_is_left() -> None:
    result = await drain(Settings(**{**SETTINGS.__dict__, "drain_max": 0.4}), in_use=lambda: 3, present=lambda: True)
    assert result.left == 3
    assert 0.4 <= result.seconds < 2


async def test_without_a_server_there_is_nothing_to_drain() -> None:
    result = await drain(SETTINGS, in_use=lambda: 3, present=lambda: False)
    assert result.seconds < 0.1
    assert result.left == 0


async def ask(port: int, path: str) -> tuple[int, dict[str, object]]:
    status, body = await http_request("GET", path, port=port)
    return status, json.loads(body)


async def test_the_probe_port_tells_the_whole_life_of_a_pod() -> None:
    async with stand_in_triton() as triton:
        triton.mood = "dead stub"
        sidecar = Sidecar(quick_settings(triton, dead_after=1.0))
        front, admin = await sidecar.start(Addresses(host="127.0.0.1", http_port=0, admin_port=0))
        assert (await ask(admin, "/startupz"))[0] == 503
        await until(lambda: not sidecar.watch.health.live)
        assert (await ask(admin, "/livez"))[0] == 503
        async with asyncio.timeout(1):
            assert (await ask(admin, "/drain"))[0] == 200
        # the kubelet replaces the container
        await triton.stop()
        await until(lambda: sidecar.watch.health.live)
        triton.mood = "answer"
        await triton.start()
        await until(lambda: sidecar.watch.health.ready)
        assert [(await ask(admin, path))[0] for path in ("/startupz", "/readyz", "/livez")] == [200, 200, 200]
        # a request is at work when the pod is to end
        triton.mood = "hang"
        request = asyncio.ensure_future(http_request("POST", "/v2/models/generator/infer", port=front, body=b"{}"))
        await until(lambda: b"{}" in triton.bodies)
        drained = asyncio.ensure_future(ask(admin, "/drain"))
        await until(lambda: sidecar.watch.health.draining)
        assert [(await ask(admin, path))[0] for path in ("/readyz", "/livez")] == [503, 200]
        assert (await ask(admin, "/state"))[1]["httpInUse"] == 1
        await asyncio.wait([drained], timeout=0.3)
        assert not drained.done(), "it did not wait for the request"
        triton.release.set()
        assert (await request)[0] == 200
        status, result = await drained
        assert (status, result["left"]) == (200, 0)
        assert (await ask(admin, "/elsewhere"))[0] == 404
        await sidecar.stop()


async def test_a_guard_that_can_not_watch_any_more_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stand_in_triton() as triton:
        sidecar = Sidecar(quick_settings(triton))

        async def broken() -> None:
            raise MemoryError("the watch is broken")

        monkeypatch.setattr(sidecar.watch, "_turn", broken)
        await sidecar.start(Addresses(host="127.0.0.1", http_port=0, admin_port=0))
        with pytest.raises(MemoryError, match="the watch is broken"):
            await sidecar.failed()
        await sidecar.stop()


TABLE = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:1F41 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0
   1: 0A00000A:1F41 0B00000A:C350 01 00000000:00000000 00:00000000 00000000     0        0 2 1 0
   2: 0A00000A:1F41 0B00000A:C351 06 00000000:00000000 00:00000000 00000000     0        0 3 1 0
   3: 0A00000A:1F40 0B00000A:C352 01 00000000:00000000 00:00000000 00000000     0        0 4 1 0
   4: 0100007F:1F41 0100007F:C353 01 00000000:00000000 00:00000000 00000000     0        0 5 1 0
   5: 0A00000A:1F41 0C00000A:C354 01 00000000:00000000 00:00000000 00000000     0        0 6 1 0
"""
TABLE6 = """  sl  local_address remote_address st
   0: 00000000000000000000000000000000:1F41 00000000000000000000000000000000:0000 0A
   1: 0000000000000000FFFF00000A00000A:1F41 0000000000000000FFFF00000B00000A:C350 01
   2: 0000000000000000FFFF00000100007F:1F41 0000000000000000FFFF00000100007F:C351 01
   3: 00000000000000000000000001000000:1F41 00000000000000000000000001000000:C352 01
   4: 000080FE000000000000000001000000:1F41 000080FE000000000000000002000000:C353 01
"""


def test_established_connections_from_elsewhere_are_counted(tmp_path: Path) -> None:
    (tmp_path / "tcp").write_text(TABLE)
    (tmp_path / "tcp6").write_text(TABLE6)
    assert count_connections(8001, tables=(tmp_path / "tcp", tmp_path / "none")) == 2
    assert count_connections(8001, tables=(tmp_path / "tcp", tmp_path / "tcp6")) == 4
    assert count_connections(8002, tables=(tmp_path / "tcp",)) == 0
