"""The adapter against a real HTTP server: paths, bodies, content types, pages, time-outs and the translation of failures."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
import yaml
from aiohttp import web
from kubernetes.aio import client as official

from vertical_operator.kube.client import ApiServer, yaml_safe
from vertical_operator.kube.failures import Conflict, Gone, Terminal, Transient

Answer = Callable[[web.Request, Any], Awaitable[web.Response]]


@asynccontextmanager
async def api_server(answer: Answer, *, counted: list[tuple[str, str, int]] | None = None) -> AsyncIterator[ApiServer]:
    """An ApiServer whose other end is `answer`, given the request and its JSON body."""

    async def handle(request: web.Request) -> web.Response:
        text = await request.text()
        return await answer(request, json.loads(text) if text else None)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    configuration = official.Configuration(host=f"http://127.0.0.1:{runner.addresses[0][1]}")
    configuration.api_key["BearerToken"] = "bearer secret"
    try:
        async with ApiServer(configuration, count=lambda *call: (counted if counted is not None else []).append(call)) as server:
            yield server
    finally:
        await runner.cleanup()


def recorder(answers: list[Any] | None = None) -> tuple[Answer, list[tuple[web.Request, Any]]]:
    seen: list[tuple[web.Request, Any]] = []
    pages = iter(answers or [])

    async def answer(request: web.Request, body: Any) -> web.Response:
        seen.append((request, body))
        return web.json_response(next(pages, {"kind": "Thing", "metadata": {"name": "x"}}))

    return answer, seen


async def test_get_asks_for_one_object_with_the_token() -> None:
    answer, seen = recorder()
    counted: list[tuple[str, str, int]] = []
    async with api_server(answer, counted=counted) as server:
        assert (await server.get("VerticalService", namespace="n", name="x") or {})["kind"] == "Thing"
    request, _ = seen[0]
    assert (request.method, request.path) == ("GET", "/apis/serving.vertical-operator.io/v1alpha1/namespaces/n/verticalservices/x")
    assert request.headers["Authorization"] == "bearer secret"
    assert counted == [("get", "VerticalService", 200)]


async def test_list_follows_pages_and_says_what_each_item_is() -> None:
    answer, seen = recorder(
        [
            {"metadata": {"continue": "t/1="}, "items": [{"metadata": {"name": "a"}}]},
            {"metadata": {}, "items": [{"metadata": {"name": "b"}}]},
        ]
    )
    async with api_server(answer) as server:
        items = await server.list_owned("Pod", namespace=None, selector="a=b,c=d")
    assert [(item["apiVersion"], item["kind"], item["metadata"]["name"]) for item in items] == [("v1", "Pod", "a"), ("v1", "Pod", "b")]
    assert seen[0][0].path == "/api/v1/pods"
    assert seen[0][0].query["labelSelector"] == "a=b,c=d"
    assert "continue" not in seen[0][0].query
    assert seen[1][0].query["continue"] == "t/1="


async def test_an_empty_list_may_be_null() -> None:
    answer, _ = recorder([{"metadata": {}, "items": None}])
    async with api_server(answer) as server:
        assert await server.list_owned("Node", namespace=None, selector="") == []


async def test_apply_is_a_forced_server_side_apply_of_the_whole_manifest() -> None:
    answer, seen = recorder()
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "n"}, "spec": {"replicas": 0}}
    async with api_server(answer) as server:
        await server.apply(manifest, field_manager="vertical-operator/poi")
    request, body = seen[0]
    assert (request.method, request.path) == ("PATCH", "/apis/apps/v1/namespaces/n/deployments/d")
    assert request.headers["Content-Type"].split(";")[0] == "application/apply-patch+yaml"
    assert dict(request.query) == {"fieldManager": "vertical-operator/poi", "force": "true"}
    assert body == manifest


STRANGE = [*map(chr, range(0xA1)), "\\ud83c\\u0041", "é", "中", "\u2028", "\ufeff", "\uffff", "🍣", "\U0010ffff", "\\", '"']
"""Each character that JSON, YAML or both treat in a way of its own."""


def test_an_apply_is_read_alike_as_json_and_as_yaml() -> None:
    body = {"text": "".join(STRANGE), **{f"{place}": text for place, text in enumerate(STRANGE)}}
    assert json.loads(yaml_safe(body)) == body
    assert yaml.safe_load(yaml_safe(body)) == body
    # What PyYAML forgives and Go's parser does not: halves of a character.
    assert "\\ud83c\\udf63" not in yaml_safe({"text": "🍣"})


async def test_delete_names_the_very_object_and_absence_is_success() -> None:
    seen: list[Any] = []

    async def answer(_: web.Request, body: Any) -> web.Response:
        seen.append(body)
        return web.json_response({"message": "not found"}, status=404)

    async with api_server(answer) as server:
        await server.delete("Job", namespace="n", name="j", uid="u1")
        await server.delete("Engine", namespace="n", name="e", uid="u2", resource_version="7")
    assert seen[0]["preconditions"] == {"uid": "u1"}
    assert seen[0]["propagationPolicy"] == "Background"
    assert seen[1]["preconditions"] == {"uid": "u2", "resourceVersion": "7"}


async def test_status_goes_to_the_subresource_as_a_merge_patch() -> None:
    answer, seen = recorder()
    async with api_server(answer) as server:
        await server.patch_status("Engine", namespace="n", name="e", status={"state": None})
    request, body = seen[0]
    assert (request.method, request.path.rpartition("/")[2]) == ("PATCH", "status")
    assert request.headers["Content-Type"] == "application/merge-patch+json"
    assert body == {"status": {"state": None}}


@pytest.mark.parametrize(
    ("code", "kind"), [(409, Conflict), (422, Terminal), (403, Terminal), (404, Gone), (500, Transient), (429, Transient)]
)
async def test_refusals_become_failures_with_the_servers_words(code: int, kind: type[Exception]) -> None:
    async def answer(_: web.Request, __: Any) -> web.Response:
        return web.json_response({"kind": "Status", "message": "spec.x: no"}, status=code, headers={"Retry-After": "3"})

    counted: list[tuple[str, str, int]] = []
    async with api_server(answer, counted=counted) as server:
        with pytest.raises(kind, match=r"spec\.x: no"):
            await server.apply({"kind": "Job", "metadata": {"name": "j", "namespace": "n"}}, field_manager="m")
    assert counted == [("apply", "Job", code)]


async def test_get_of_an_absent_object_is_none_but_a_refused_get_is_not() -> None:
    codes = iter([404, 403])

    async def answer(_: web.Request, __: Any) -> web.Response:
        return web.json_response({"message": "no"}, status=next(codes))

    async with api_server(answer) as server:
        assert await server.get("Namespace", namespace=None, name="n") is None
        with pytest.raises(Terminal):
            await server.get("Namespace", namespace=None, name="n")


async def test_a_server_that_does_not_answer_is_given_up() -> None:
    release = asyncio.Event()

    async def answer(_: web.Request, __: Any) -> web.Response:
        await release.wait()
        return web.json_response({})

    counted: list[tuple[str, str, int]] = []
    async with api_server(answer, counted=counted) as server:
        server._timeout = aiohttp.ClientTimeout(total=0.05)
        with pytest.raises(Transient, match="no answer"):
            await server.get("Pod", namespace="n", name="p")
        release.set()
    assert counted == [("get", "Pod", 0)]


async def test_nobody_listening_is_transient() -> None:
    async with ApiServer(official.Configuration(host="http://127.0.0.1:1")) as server:
        with pytest.raises(Transient, match="no answer"):
            await server.get("Pod", namespace="n", name="p")


async def test_a_broken_answer_is_transient() -> None:
    async def answer(_: web.Request, __: Any) -> web.Response:
        return web.Response(text="<html>", status=200)

    async with api_server(answer) as server:
        with pytest.raises(Transient):
            await server.get("Pod", namespace="n", name="p")
