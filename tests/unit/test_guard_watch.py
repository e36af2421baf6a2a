"""The watch in front of a stand-in server: which canaries it sends, and what it makes of what comes back."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.support.stand_in_triton import Mood, StandInTriton, quick_settings, stand_in_triton, until
from vertical_engines.guard.health import REFUSALS
from vertical_engines.guard.settings import Settings
from vertical_engines.guard.triton import Canary, count_successes, judge, parse_successes
from vertical_engines.guard.watch import Refused, Watch


@asynccontextmanager
async def watching(settings: Settings) -> AsyncIterator[Watch]:
    watch = Watch(settings, send=Canary(settings).send, count=lambda: count_successes(settings))
    task = asyncio.ensure_future(watch.run())
    try:
        yield watch
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_server_that_comes_up_is_found_and_one_that_ends_is_missed() -> None:
    triton = StandInTriton()
    await triton.start()
    await triton.stop()
    async with watching(quick_settings(triton)) as watch:
        await until(lambda: "no answer from Triton" in watch.health.why)
        assert watch.health.live
        await triton.start()
        await until(lambda: watch.health.ready)
        await triton.stop()
        await until(lambda: not watch.health.ready)
        assert watch.health.live


async def test_each_canary_is_another_request_to_the_slm_where_there_is_no_own_one() -> None:
    async with stand_in_triton() as triton, watching(quick_settings(triton)):
        await until(lambda: len(triton.bodies) >= 5)
        assert all(head.start == b"POST /v2/models/generator/infer HTTP/1.1" for head in triton.heads)
        assert len(set(triton.bodies)) == len(triton.bodies)
        inputs = {one["name"]: one["data"] for one in json.loads(triton.bodies[0])["inputs"]}
        assert inputs["max_tokens"] == [1]


async def test_the_entry_models_own_canary_is_sent_with_a_fresh_nonce() -> None:
    own = json.dumps({"inputs": [{"name": "name", "datatype": "BYTES", "shape": [1], "data": ["canary {nonce}"]}]})
    async with stand_in_triton() as triton, watching(quick_settings(triton, canary=own)):
        await until(lambda: len(triton.bodies) >= 3)
        assert triton.heads[0].start == b"POST /v2/models/matching/infer HTTP/1.1"
        names = [json.loads(body)["inputs"][0]["data"][0] for body in triton.bodies]
        assert len(set(names)) == len(names)
        assert all(name.startswith("canary ") and "{nonce}" not in name for name in names)


@pytest.mark.parametrize("mood", ["dead stub", "cached failure"])
async def test_failing_canaries_are_death(mood: Mood) -> None:
    async with stand_in_triton() as triton, watching(quick_settings(triton)) as watch:
        await until(lambda: watch.health.ready)
        triton.mood = mood
        await until(lambda: not watch.health.live)


async def test_a_canary_that_the_model_refuses_never_makes_it_ready_nor_dead() -> None:
    async with stand_in_triton() as triton:
        triton.mood = "refuse"
        async with watching(quick_settings(triton)) as watch:
            await until(lambda: len(triton.bodies) >= 5)
            assert watch.health.live
            assert not watch.health.started
            assert "name: Field required" in watch.health.why


@pytest.mark.parametrize("mood", ["refuse", "dead stub", "cached failure"])
async def test_a_server_that_never_answers_a_canary_well_ends_the_watch_with_its_words(mood: Mood) -> None:
    async with stand_in_triton() as triton:
        triton.mood = mood
        watch = Watch(
            quick_settings(triton), send=Canary(quick_settings(triton)).send, count=lambda: count_successes(quick_settings(triton))
        )
        with pytest.raises(Refused) as found:
            await asyncio.wait_for(watch.run(), 10)
        assert str(found.value) == watch.health.why != ""
        assert len(triton.bodies) == REFUSALS


@pytest.mark.parametrize("mood", ["refuse", "dead stub", "cached failure"])
async def test_bad_answers_after_a_good_one_never_end_the_watch(mood: Mood) -> None:
    async with stand_in_triton() as triton, watching(quick_settings(triton)) as watch:
        await until(lambda: watch.health.ready)
        triton.mood = mood
        seen = len(triton.bodies)
        await until(lambda: len(triton.bodies) > seen + 2 * REFUSALS)
        assert not watch.health.refused
        triton.mood = "answer"
        await until(lambda: watch.health.ready)


async def test_a_server_that_comes_and_goes_is_not_one_that_refuses() -> None:
    async with stand_in_triton() as triton, watching(quick_settings(triton)) as watch:
        triton.mood = "refuse"
        for _ in range(4):
            seen = len(triton.bodies)
            await until(lambda seen=seen: len(triton.bodies) > seen + REFUSALS // 2)
            await triton.stop()
            await until(lambda: "no answer" in watch.health.why)
            await triton.start()
        triton.mood = "answer"
        await until(lambda: watch.health.ready)


async def test_a_busy_server_gets_one_canary_and_stays_ready() -> None:
    async with stand_in_triton() as triton, watching(quick_settings(triton, dead_after=0.3)) as watch:
        await until(lambda: watch.health.ready)
        triton.mood = "hang"
        await until(lambda: triton.hanging == 1)
        most, began = 0, asyncio.get_running_loop().time()
        while asyncio.get_running_loop().time() - began < 0.9:
            triton.successes += 1  # other callers are answered all the time
            most = max(most, triton.hanging)
            assert watch.health.ready
            await asyncio.sleep(0.005)
        assert most <= 2, "canaries pile up on a server that is busy"


async def test_a_server_that_answers_nothing_any_more_is_dead_in_the_end() -> None:
    async with stand_in_triton() as triton, watching(quick_settings(triton, dead_after=0.3)) as watch:
        await until(lambda: watch.health.ready)
        triton.mood = "hang"
        await until(lambda: not watch.health.live)
        assert "nothing was answered" in watch.health.why
        assert triton.hanging == 2


async def test_a_stub_that_died_with_the_canary_in_it_is_found_by_a_second_one() -> None:
    async with stand_in_triton() as triton, watching(quick_settings(triton)) as watch:
        await until(lambda: watch.health.ready)
        triton.mood = "hang"
        await until(lambda: triton.hanging == 1)
        triton.mood = "dead stub"
        await until(lambda: not watch.health.live)
        assert triton.hanging == 1, "the first canary was never answered"


async def test_a_full_queue_is_work_not_death() -> None:
    async with stand_in_triton() as triton, watching(quick_settings(triton)) as watch:
        await until(lambda: watch.health.ready)
        triton.mood = "full"
        seen = len(triton.bodies)
        await until(lambda: len(triton.bodies) > seen + 4)
        assert watch.health.ready


async def test_a_new_server_after_a_drain_is_ready_again() -> None:
    async with stand_in_triton() as triton, watching(quick_settings(triton)) as watch:
        await until(lambda: watch.health.ready)
        watch.start_drain()
        seen = len(triton.bodies)
        await until(lambda: len(triton.bodies) > seen + 2)
        assert not watch.health.ready
        assert watch.health.live
        await triton.stop()
        await until(lambda: not watch.health.started)
        await triton.start()
        await until(lambda: watch.health.ready)


@pytest.mark.parametrize(
    ("status", "answer", "kind"),
    [
        (200, b'{"outputs":[{"name":"a"}]}', "answered"),
        (200, b'{"outputs":[]}', "error"),
        (200, b"<html>", "error"),
        (200, b"[]", "error"),
        (400, b'{"error":"no"}', "objection"),
        (404, b"", "objection"),
        (500, b'{"error":"Stub process is not healthy."}', "error"),
        (503, b"", "busy"),
    ],
)
def test_answers_are_judged(status: int, answer: bytes, kind: str) -> None:
    assert judge(status, answer).kind == kind


def test_successes_are_summed_over_models() -> None:
    text = b"""# HELP nv_inference_request_success Number of successful inference requests
nv_inference_request_success{model="a",version="1"} 3
nv_inference_request_success{model="b",version="7"} 1.2e+1
nv_inference_request_failure{model="a",reason="BACKEND",version="1"} 9
"""
    assert parse_successes(text) == 15
