"""Reads the API server's audit log: who wrote what, so that a test can show that nothing was written."""

import json
from dataclasses import dataclass
from datetime import datetime

from tests.cluster.cluster import Cluster
from tests.cluster.errors import ClusterError
from tests.cluster.locations import state_folder


@dataclass(frozen=True)
class Write:
    """One accepted or refused write: `code` is its HTTP status, `at` when it was answered (UTC)."""

    at: datetime
    user: str
    verb: str
    resource: str
    namespace: str
    name: str
    code: int


def writes(cluster: Cluster, *, user: str, since: datetime | None = None) -> list[Write]:
    """Writes of a user, oldest first; `since` must know its time zone. Leases and Events are included: filter by `resource`.

    Only a native cluster keeps the log; raises ClusterError on others.
    """
    log = state_folder(cluster.name) / "log" / "audit.jsonl"
    if not log.exists():
        raise ClusterError(f"cluster {cluster.name} keeps no audit log", remedy="use --provider native")
    found = [parse(line) for line in log.read_text().splitlines()]
    return [write for write in found if write.user == user and (since is None or write.at >= since)]


def parse(line: str) -> Write:
    """One line of the log."""
    event = json.loads(line)
    target = event.get("objectRef", {})
    resource = "/".join(part for part in (target.get("resource"), target.get("subresource")) if part)
    return Write(
        at=datetime.fromisoformat(event["stageTimestamp"]),
        user=event["user"]["username"],
        verb=event["verb"],
        resource=resource,
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        code=event.get("responseStatus", {}).get("code", 0),
    )
