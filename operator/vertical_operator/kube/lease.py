"""Cold standby through one Lease: who holds it works, who loses it must end. Times are monotonic, never the other side's clock."""

import asyncio
import datetime
import time
from collections.abc import Callable
from typing import Any, Protocol

from vertical_operator.kube.client import ApiServer
from vertical_operator.kube.failures import ClusterFailure, Conflict, Transient
from vertical_operator.kube.port import Manifest

DURATION_SECONDS = 15.0
"""A lease that nobody renewed for so long, as seen from here, may be taken over."""
RENEW_SECONDS = 4.0
GIVE_UP_SECONDS = 10.0
"""The holder ends itself after so long without a renewal: before anybody else may take over."""


class LeaseLost(RuntimeError):
    """This process may not go on: another one holds the lease, or it could not be renewed in time."""


class LeaseStore(Protocol):
    """The three requests that a lease needs; each carries its precondition to the server."""

    async def read(self) -> Manifest | None: ...

    async def create(self, spec: dict[str, Any]) -> Manifest: ...

    async def replace(self, lease: Manifest) -> Manifest: ...


class ServerLease:
    """The LeaseStore on a real API server."""

    def __init__(self, server: ApiServer, *, namespace: str, name: str) -> None:
        self._server, self._namespace, self._name = server, namespace, name

    async def read(self) -> Manifest | None:
        return await self._server.get("Lease", namespace=self._namespace, name=self._name)

    async def create(self, spec: dict[str, Any]) -> Manifest:
        metadata = {"name": self._name, "namespace": self._namespace}
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
        return await self._server.request("create", "Lease", namespace=self._namespace, body=body)

    async def replace(self, lease: Manifest) -> Manifest:
        return await self._server.request("update", "Lease", namespace=self._namespace, name=self._name, body=lease)


class Lease:
    """One contender: `acquire` waits for the lease, `keep` renews it or raises LeaseLost, `release` lets the next one in at once."""

    def __init__(self, store: LeaseStore, *, identity: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._identity, self._clock = store, identity, clock
        self._seen: Manifest | None = None
        self._seen_at = 0.0
        self._renewed_at = 0.0
        self._holds = False

    async def acquire(self) -> None:
        """Return once this process holds the lease. Failures of the API server only make it take longer."""
        while True:
            try:
                if await self.attempt():
                    return
            except ClusterFailure:
                # A standby has nothing to lose: it looks again, and readiness shows that it does not lead.
                pass
            await asyncio.sleep(RENEW_SECONDS / 2)

    async def attempt(self) -> bool:
        """One try: create the lease, renew it, or take it over when it has run out as seen from here."""
        asked_at = self._clock()
        lease = await self._store.read()
        if lease is not None and self._is_held(lease, asked_at):
            return False
        try:
            self._seen = await self._write(lease)
        except Conflict:
            return False
        self._renewed_at = self._seen_at = asked_at
        self._holds = True
        return True

    async def keep(self) -> None:
        """Renew until it fails. Raises LeaseLost; never returns."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            try:
                async with asyncio.timeout(max(self._renewed_at + GIVE_UP_SECONDS - self._clock(), 0.0)):
                    # A conflict can be somebody's harmless edit: the second look tells who holds it.
                    renewed = await self.attempt() or await self.attempt()
            except (Transient, TimeoutError) as error:
                if self._clock() - self._renewed_at >= GIVE_UP_SECONDS:
                    raise LeaseLost(f"the lease could not be renewed for {GIVE_UP_SECONDS:.0f} s: {error}") from error
                continue
            except ClusterFailure as error:
                raise LeaseLost(f"the API server refuses the lease: {error}") from error
            if not renewed:
                raise LeaseLost("another process holds the lease")

    async def release(self) -> None:
        """Give the lease back, so that a standby takes over without waiting; best effort, since it would run out anyway."""
        if self._seen is None or not self._holds:
            return
        self._holds = False
        try:
            await self._store.replace({**self._seen, "spec": {**self._seen["spec"], "holderIdentity": ""}})
        except ClusterFailure:
            return

    def _is_held(self, lease: Manifest, now: float) -> bool:
        """Whether somebody else holds it. It counts from when a change was seen here: clocks of two nodes are never compared."""
        holder = lease.get("spec", {}).get("holderIdentity") or ""
        if holder in ("", self._identity):
            return False
        if self._seen is None or self._seen["metadata"]["resourceVersion"] != lease["metadata"]["resourceVersion"]:
            self._seen, self._seen_at = lease, now
        return now - self._seen_at < DURATION_SECONDS

    async def _write(self, lease: Manifest | None) -> Manifest:
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        old = lease.get("spec", {}) if lease else {}
        same = old.get("holderIdentity") == self._identity
        spec = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": int(DURATION_SECONDS),
            "acquireTime": old.get("acquireTime") if same else now,
            "renewTime": now,
            "leaseTransitions": int(old.get("leaseTransitions") or 0) + (0 if same or lease is None else 1),
        }
        return await (self._store.create(spec) if lease is None else self._store.replace({**lease, "spec": spec}))
