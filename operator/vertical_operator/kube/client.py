"""The port on the official asyncio client. It uses the client's transport, credentials and TLS, never its model objects."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, cast

import aiohttp
from kubernetes.aio import client as official
from kubernetes.aio import config as official_config

from vertical_operator.kube.failures import Gone, Transient, failure_of, no_answer
from vertical_operator.kube.kinds import RESOURCES, resource_path
from vertical_operator.kube.port import Manifest

Verb = Literal["get", "list", "apply", "delete", "patch_status", "create", "update"]

METHODS: dict[Verb, str] = {
    "get": "GET",
    "list": "GET",
    "apply": "PATCH",
    "delete": "DELETE",
    "patch_status": "PATCH",
    "create": "POST",
    "update": "PUT",
}
# The parameter makes the official client send our own text: it would escape an emoji as two halves, which are no characters in YAML.
CONTENT_TYPES: dict[Verb, str] = {"apply": "application/apply-patch+yaml; charset=utf-8", "patch_status": "application/merge-patch+json"}

REQUEST_SECONDS = 10.0
"""A request that takes longer is given up: a worker must not hang on a server that does not answer."""
CONNECT_SECONDS = 5.0
PAGE_SIZE = 500
CONNECTIONS = 32

CountRequest = Callable[[str, str, int], None]
"""Called once a request with verb, kind and HTTP status (0: no answer)."""


@dataclass(frozen=True, kw_only=True)
class Access:
    """Where the API server is and how to be let in, for the one other client in this process (the watches)."""

    server: str
    ca_path: str | None
    certificate_path: str | None
    key_path: str | None
    authorization: str | None = field(repr=False)
    """Value of the Authorization header, with a fresh token."""
    verify: bool = True


class ApiServer:
    """One connection pool to one API server; implements `kube.port.Cluster`. An async context manager: leaving it closes the pool."""

    def __init__(self, configuration: Any, *, count: CountRequest | None = None, user_agent: str = "vertical-operator") -> None:
        configuration.connection_pool_maxsize = CONNECTIONS
        self._configuration = configuration
        self._client = official.ApiClient(configuration)
        self._client.user_agent = user_agent
        self._count = count or (lambda _verb, _kind, _code: None)
        self._timeout = aiohttp.ClientTimeout(total=REQUEST_SECONDS, connect=CONNECT_SECONDS)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._client.close()

    async def access(self) -> Access:
        """The credentials as they are now: service account tokens rotate."""
        configuration = self._configuration
        return Access(
            server=configuration.host,
            ca_path=configuration.ssl_ca_cert,
            certificate_path=configuration.cert_file,
            key_path=configuration.key_file,
            authorization=await configuration.get_api_key_with_prefix("BearerToken"),
            verify=configuration.verify_ssl,
        )

    async def get(self, kind: str, *, namespace: str | None, name: str) -> Manifest | None:
        try:
            return await self.request("get", kind, namespace=namespace, name=name)
        except Gone:
            return None

    async def list_owned(self, kind: str, *, namespace: str | None, selector: str) -> list[Manifest]:
        query = {"limit": str(PAGE_SIZE), "labelSelector": selector}
        items: list[Manifest] = []
        while True:
            page = await self.request("list", kind, namespace=namespace, query=query)
            # Items of a list lack the two fields that say what they are.
            items += [{"apiVersion": RESOURCES[kind].api_version, "kind": kind, **item} for item in page.get("items") or []]
            token = page.get("metadata", {}).get("continue")
            if not token:
                return items
            query = {**query, "continue": token}

    async def apply(self, manifest: Manifest, *, field_manager: str, force: bool = True) -> Manifest:
        metadata = manifest["metadata"]
        return await self.request(
            "apply",
            manifest["kind"],
            namespace=metadata.get("namespace"),
            name=metadata["name"],
            query={"fieldManager": field_manager, "force": str(force).lower()},
            body=manifest,
        )

    async def delete(self, kind: str, *, namespace: str | None, name: str, uid: str, resource_version: str | None = None) -> None:
        preconditions = {"uid": uid} | ({"resourceVersion": resource_version} if resource_version else {})
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background", "preconditions": preconditions}
        try:
            await self.request("delete", kind, namespace=namespace, name=name, body=options)
        except Gone:
            return

    async def patch_status(self, kind: str, *, namespace: str | None, name: str, status: Mapping[str, Any]) -> Manifest:
        return await self.request("patch_status", kind, namespace=namespace, name=name, subresource="status", body={"status": dict(status)})

    async def request(
        self,
        verb: Verb,
        kind: str,
        *,
        namespace: str | None,
        name: str | None = None,
        subresource: str | None = None,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Manifest:
        """One request and its JSON answer. Raises the failures of `kube.failures`; counts the request either way."""
        code = 0
        try:
            method, url, headers, content, _ = await self._client.param_serialize(
                METHODS[verb],
                resource_path(kind, namespace=namespace, name=name, subresource=subresource),
                query_params=list((query or {}).items()),
                header_params={"Accept": "application/json", "Content-Type": CONTENT_TYPES.get(verb, "application/json")},
                body=yaml_safe(body) if verb == "apply" else body,
                auth_settings=["BearerToken"],
            )
            answer = await self._client.call_api(method, url, headers, content, _request_timeout=self._timeout)
            text = (await answer.read()).decode(errors="replace")
            code = answer.status
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise no_answer(error) from error
        finally:
            self._count(verb, kind, code)
        if not 200 <= code <= 299:
            raise failure_of(code, text, headers=answer.headers)
        try:
            return cast(Manifest, json.loads(text))
        except ValueError as error:
            # A proxy's page, or an answer that was cut off.
            raise Transient(f"the API server's answer is not JSON: {error}", code=code) from error


def yaml_safe(body: Mapping[str, Any] | None) -> str:
    """JSON that is YAML too: beyond ASCII, all escaped but characters that JSON can only escape as two halves."""
    text = json.dumps(body, ensure_ascii=False)
    return re.sub(r"[^\x20-\x7e\U00010000-\U0010ffff]", lambda found: f"\\u{ord(found[0]):04x}", text)


class NoAccess(Exception):
    """There are no usable credentials for a cluster; the message says what was looked for."""


async def connect(*, kubeconfig: str | None = None, context: str | None = None, count: CountRequest | None = None) -> ApiServer:
    """A client with the credentials of the pod, or of a kubeconfig file when one is named. Raises NoAccess."""
    configuration = official.Configuration()
    try:
        if kubeconfig is None:
            official_config.load_incluster_config(client_configuration=configuration)
        else:
            await official_config.load_kube_config(config_file=_existing(kubeconfig), context=context, client_configuration=configuration)
    except (official_config.ConfigException, OSError) as error:
        hint = " (out of a cluster, set OPERATOR_KUBECONFIG)" if kubeconfig is None else ""
        raise NoAccess(f"{kubeconfig or 'service account of the pod'}: {error}{hint}") from error
    return ApiServer(configuration, count=count)


def _existing(kubeconfig: str) -> str:
    """The official client takes a missing file for an empty one."""
    if not Path(kubeconfig).is_file():
        raise NoAccess(f"{kubeconfig}: no such kubeconfig file")
    return kubeconfig
