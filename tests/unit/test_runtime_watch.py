"""The kopf shell: only event handlers, server-side filters, nothing that writes; and what it makes of events."""

from typing import Any

import kopf
import pytest

from vertical_operator.kube.client import Access
from vertical_operator.kube.kinds import RESOURCES
from vertical_operator.runtime import watch as module
from vertical_operator.runtime.watch import CHILDREN, PARENTS, watch_registry, watch_settings


def registry(seen: list[Any], relists: list[None], *, authorization: str | None = "bearer t") -> kopf.OperatorRegistry:
    async def access() -> Access:
        return Access(server="https://s", ca_path="/ca", certificate_path=None, key_path=None, authorization=authorization)

    return watch_registry(seen=lambda kind, body: seen.append((kind, body)), relisted=lambda: relists.append(None), access=access)


def handlers(of: kopf.OperatorRegistry) -> list[Any]:
    return list(of._watching.get_all_handlers())


def test_every_kind_has_one_event_handler_and_nothing_else_is_registered() -> None:
    made = registry([], [])
    assert sorted(handler.id for handler in handlers(made)) == sorted(f"observe-{kind.lower()}" for kind in (*PARENTS, *CHILDREN))
    for part in (made._changing, made._spawning, made._indexing, made._webhooks):
        assert list(part.get_all_handlers()) == [], "such handlers write annotations or finalizers, or make the start slow"


@pytest.mark.parametrize("kind", [*PARENTS, *CHILDREN])
def test_children_are_filtered_on_the_server_and_parents_are_not(kind: str) -> None:
    settings = watch_settings()
    group, _, version = RESOURCES[kind].api_version.rpartition("/")
    resource = kopf.Resource(
        group=group, version=version, plural=RESOURCES[kind].plural, namespaced=True, preferred=True, verbs=frozenset({"list", "watch"})
    )
    selectors = list(settings.watching.label_selectors.collect(resource))
    assert selectors == ([module.MANAGED] if kind in CHILDREN else [])


def test_kopf_posts_nothing_scans_nothing_and_has_no_worker_limit() -> None:
    settings = watch_settings()
    assert settings.posting.enabled is False
    assert settings.scanning.disabled is True
    assert settings.queueing.worker_limit is None
    assert settings.watching.chunk_size == 500


async def test_an_event_is_handed_on_with_its_type_and_a_second_list_is_noticed() -> None:
    seen: list[Any] = []
    relists: list[None] = []
    handler = handlers(registry(seen, relists))[0]
    body = {"kind": "Pod", "metadata": {"uid": "u", "name": "p"}}
    for event_type in (None, "MODIFIED", None, "DELETED"):
        await handler.fn(event={"type": event_type, "object": body}, body=body, logger=None)
    assert [kind for kind, _ in seen] == [None, "MODIFIED", None, "DELETED"]
    assert len(relists) == 1


@pytest.mark.parametrize(("authorization", "scheme", "token"), [("bearer abc", "bearer", "abc"), (None, None, None)])
async def test_the_watches_use_the_credentials_of_the_client(authorization: str | None, scheme: str | None, token: str | None) -> None:
    (login,) = registry([], [], authorization=authorization)._activities.get_all_handlers()
    connection = await login.fn()
    assert (connection.server, connection.ca_path, connection.scheme, connection.token) == ("https://s", "/ca", scheme, token)
