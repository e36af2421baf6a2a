"""The watches: kopf as a shell that turns whatever it sees into keys. The only module that imports kopf.

Handlers do nothing but call `seen`: kopf keeps no state about objects then, writes no annotation and adds no finalizer
(docs/decisions/0001).
"""

import functools
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

import kopf

from vertical_operator.api.v1alpha1.group import FIELD_MANAGER, GROUP, MANAGED_BY_LABEL
from vertical_operator.kube.client import PAGE_SIZE, Access
from vertical_operator.kube.kinds import RESOURCES
from vertical_operator.runtime.relist import RelistDetector

PARENTS = ("VerticalService", "Engine")
CHILDREN = ("PersistentVolumeClaim", "ConfigMap", "Service", "Deployment", "Job", "Pod")
MANAGED = f"{MANAGED_BY_LABEL}={FIELD_MANAGER}"

Seen = Callable[[str | None, Mapping[str, Any]], None]
"""Gets the type of an event (None: from a list) and the object."""


def watch_settings() -> kopf.OperatorSettings:
    """kopf's settings for thousands of objects: filters and pages on the server, no limits that turn into waiting, no Events of its own."""
    settings = kopf.OperatorSettings()
    for kind in CHILDREN:
        settings.watching.label_selectors[_selector(kind)] = MANAGED
    settings.watching.chunk_size = PAGE_SIZE
    settings.queueing.idle_timeout = 1.0
    settings.networking.request_timeout = 60.0
    settings.networking.connect_timeout = 5.0
    settings.posting.enabled = False
    # No look-out for new kinds and namespaces: it would need rights on all of them. The kinds exist before we start.
    settings.scanning.disabled = True
    settings.peering.standalone = True
    # Never used, since no handler changes objects; a name of ours all the same, should one ever be added.
    settings.persistence.finalizer = f"{GROUP}/watch"
    return settings


def watch_registry(*, seen: Seen, relisted: Callable[[], None], access: Callable[[], Awaitable[Access]]) -> kopf.OperatorRegistry:
    """Handlers for every kind: `seen` gets each object, `relisted` is called when a watch had to start over from a list."""
    registry = kopf.OperatorRegistry()
    detector = RelistDetector()

    async def login(**_: Any) -> kopf.ConnectionInfo:
        return _connection(await access())

    async def observe(*, event: Mapping[str, Any], **_: Any) -> None:
        body = event["object"]
        if detector.is_relist(event["type"], uid=body["metadata"]["uid"]):
            relisted()
        seen(event["type"], body)

    kopf.on.login(registry=registry)(login)
    for kind in (*PARENTS, *CHILDREN):
        kopf.on.event(*_selector(kind), registry=registry, id=f"observe-{kind.lower()}")(functools.partial(observe))
    return registry


async def watch(*, registry: kopf.OperatorRegistry, namespaces: Collection[str]) -> None:
    """Watch until SIGTERM or SIGINT, which kopf takes for itself; no namespaces: the whole cluster. Raises when a watch ends for good.

    No stop flag is given: kopf would wait five seconds at its end for the task that waits for it.
    """
    for name in ("kopf", "kopf.objects"):
        logging.getLogger(name).setLevel(logging.WARNING)
    await kopf.operator(
        registry=registry,
        settings=watch_settings(),
        standalone=True,
        clusterwide=not namespaces,
        namespaces=list(namespaces),
    )


def _selector(kind: str) -> tuple[str, str, str]:
    group, _, version = RESOURCES[kind].api_version.rpartition("/")
    return group, version, RESOURCES[kind].plural


def _connection(access: Access) -> kopf.ConnectionInfo:
    scheme, _, token = (access.authorization or "").partition(" ")
    return kopf.ConnectionInfo(
        server=access.server,
        ca_path=access.ca_path,
        certificate_path=access.certificate_path,
        private_key_path=access.key_path,
        scheme=scheme or None,
        token=token or None,
        insecure=not access.verify,
    )
