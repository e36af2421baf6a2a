"""HTTP transports: KServe v2 with binary tensors, through tritonclient."""

import asyncio
import json
import ssl
from typing import Any
from urllib.parse import quote

from vertical_engines.client.address import Address
from vertical_engines.client.errors import RequestTimeout, ServerUnreachable, VerticalError, from_server
from vertical_engines.client.transport import Named, inputs_of
from vertical_engines.sdk.dtypes import Array

JSON_SIZE_HEADER = "Inference-Header-Content-Length"
"""Bytes of the JSON at the front of a body that carries binary tensors."""

REASON_LIMIT = 500
"""Characters kept of an error page."""

POOL_SIZE = 32
"""Connections that are kept; more threads than that open new ones."""


class HttpTransport:
    """A pool of kept-alive connections, for any number of threads.

    tritonclient only writes and reads the bodies here: its own sync connections belong to one thread, and its time-outs
    do not end a request that waits for the server.
    """

    def __init__(self, address: Address, *, timeout: float) -> None:
        import tritonclient.http
        import urllib3

        self._module: Any = tritonclient.http
        self._http: Any = tritonclient.http.InferenceServerClient
        self._broken: Any = urllib3.exceptions
        self._base = f"{'https' if address.tls else 'http'}://{address.netloc}/v2"
        self._pool = urllib3.PoolManager(maxsize=POOL_SIZE, retries=False)
        self._timeout = timeout

    def infer(self, model: str, tensors: Named, *, timeout: float, request_id: str) -> list[tuple[str, Array]]:
        body, json_size = self._http.generate_request_body(inputs_of(self._module, tensors), request_id=request_id)
        headers = {} if json_size is None else {JSON_SIZE_HEADER: str(json_size)}
        response = self._send("POST", f"/models/{quote(model)}/infer", timeout=timeout, body=body, headers=headers)
        if response.status != 200:
            raise from_server(self._module.InferenceServerException(_reason(response.data), status=str(response.status)))
        header = response.headers.get(JSON_SIZE_HEADER)
        return outputs_of(self._http.parse_response_body(response.data, header_length=int(header) if header else None))

    def ready(self, model: str) -> bool:
        paths = ("/health/ready", f"/models/{quote(model)}/ready")
        return all(self._send("GET", path, timeout=self._timeout).status == 200 for path in paths)

    def close(self) -> None:
        self._pool.clear()

    def _send(self, method: str, path: str, *, timeout: float, body: bytes | None = None, headers: dict[str, str] | None = None) -> Any:
        try:
            return self._pool.request(method, self._base + path, body=body, headers=headers, timeout=timeout)
        except self._broken.ReadTimeoutError as error:
            raise RequestTimeout(f"no answer in {timeout:g} s") from error
        except self._broken.HTTPError as error:
            raise ServerUnreachable(str(error)) from error


class AsyncHttpTransport:
    """A pool of connections for one event loop."""

    def __init__(self, address: Address, *, timeout: float) -> None:
        import aiohttp
        import tritonclient.http.aio

        self._module: Any = tritonclient.http.aio
        self._errors: Any = tritonclient.http.aio.InferenceServerException
        self._broken: Any = aiohttp.ClientError
        self._timeout = timeout
        context = ssl.create_default_context() if address.tls else None
        self._client = tritonclient.http.aio.InferenceServerClient(
            url=address.netloc, conn_timeout=timeout, ssl=address.tls, ssl_context=context
        )

    async def infer(self, model: str, tensors: Named, *, timeout: float, request_id: str) -> list[tuple[str, Array]]:
        inputs = inputs_of(self._module, tensors)
        call = self._client.infer(model, inputs, request_id=request_id)
        return outputs_of(await self._call(call, timeout=timeout))

    async def ready(self, model: str) -> bool:
        async def ask() -> bool:
            return bool(await self._client.is_server_ready() and await self._client.is_model_ready(model))

        return bool(await self._call(ask(), timeout=self._timeout))

    async def close(self) -> None:
        await self._client.close()

    async def _call(self, work: Any, *, timeout: float) -> Any:
        try:
            return await asyncio.wait_for(work, timeout)
        except self._errors as error:
            raise from_server(error) from error
        except (TimeoutError, asyncio.TimeoutError) as error:
            raise RequestTimeout(f"no answer in {timeout:g} s") from error
        except (self._broken, OSError) as error:
            raise ServerUnreachable(str(error)) from error


def outputs_of(result: Any) -> list[tuple[str, Array]]:
    """Named arrays of an HTTP result."""
    named = []
    for output in result.get_response().get("outputs", []):
        array = result.as_numpy(output["name"])
        if array is None:
            raise VerticalError(f"output {output['name']} came without data")
        named.append((output["name"], array))
    return named


def _reason(body: bytes) -> str:
    """The server's words: its JSON error, or what a proxy in between wrote."""
    try:
        return str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace").strip()[:REASON_LIMIT] or "the server gave no reason"
