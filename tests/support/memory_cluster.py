"""An in-memory API server behind the operator's port: a faster copy of scenarios that also run on a real one.

It knows server-side apply with owners of fields, generation, resourceVersion, uid preconditions, the status subresource, finalizers,
owner garbage collection, label selectors and a log of every request; it tells listeners about each change, as a watch would.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from tests.support.defaults import set_defaults
from tests.support.fields import Path, fields_of, merged, tree_of, value_at, without
from vertical_operator.kube.failures import Conflict, Gone
from vertical_operator.kube.port import Manifest

Json = TypeVar("Json")

Identity = tuple[str, str, str]
"""Kind, namespace (empty for cluster-scoped objects), name."""

WITH_STATUS_DEFAULT = frozenset({"VerticalService", "Engine"})
WITHOUT_GENERATION = frozenset({"ConfigMap", "Pod", "Service", "PersistentVolumeClaim", "Node", "Namespace"})


@dataclass(frozen=True)
class Request:
    """One request: `verb` is one of the port's methods."""

    verb: str
    kind: str
    name: str

    @property
    def is_write(self) -> bool:
        return self.verb in {"apply", "delete", "patch_status"}


@dataclass
class _Stored:
    body: Manifest
    managers: dict[str, frozenset[Path]] = field(default_factory=dict)
    shown: str = ""
    """The object as the server answers it, as JSON; made anew after a change."""


class MemoryCluster:
    """Implements `kube.port.Cluster`. `before` and `after` are called around each request and may raise: that is where faults go in."""

    def __init__(self) -> None:
        self._objects: dict[Identity, _Stored] = {}
        self.version = 0
        """Grows with every change of any object."""
        self._uid = 0
        self.requests: list[Request] = []
        self.listeners: list[Callable[[str, Manifest], None]] = []
        self.before: Callable[[Request], None] = lambda _request: None
        self.after: Callable[[Request], None] = lambda _request: None
        self.now = "2026-01-01T00:00:00Z"

    # The port.

    async def get(self, kind: str, *, namespace: str | None, name: str) -> Manifest | None:
        with_request = await self._begin("get", kind, name)
        stored = self._objects.get((kind, namespace or "", name))
        self.after(with_request)
        return self._shown(stored) if stored else None

    async def list_owned(self, kind: str, *, namespace: str | None, selector: str) -> list[Manifest]:
        request = await self._begin("list", kind, "")
        found = [
            self._shown(stored)
            for (of_kind, of_namespace, _), stored in sorted(self._objects.items())
            if of_kind == kind and namespace in (None, of_namespace) and selects(selector, stored.body["metadata"].get("labels") or {})
        ]
        self.after(request)
        return found

    async def apply(self, manifest: Manifest, *, field_manager: str, force: bool = True) -> Manifest:
        metadata = manifest["metadata"]
        request = await self._begin("apply", manifest["kind"], metadata["name"])
        result = self._apply(copied(manifest), manager=field_manager, force=force)
        self.after(request)
        return result

    async def delete(self, kind: str, *, namespace: str | None, name: str, uid: str, resource_version: str | None = None) -> None:
        request = await self._begin("delete", kind, name)
        identity = (kind, namespace or "", name)
        if (stored := self._objects.get(identity)) is not None:
            metadata = stored.body["metadata"]
            if metadata["uid"] != uid or resource_version not in (None, metadata["resourceVersion"]):
                raise Conflict(f"precondition failed for {kind} {name}", code=409)
            self.remove(*identity)
        self.after(request)

    async def patch_status(self, kind: str, *, namespace: str | None, name: str, status: Mapping[str, Any]) -> Manifest:
        request = await self._begin("patch_status", kind, name)
        if (kind, namespace or "", name) not in self._objects:
            raise Gone(f"{kind} {name} not found", code=404)
        result = self.set_status(
            kind, namespace or "", name, status=merge_patched(self._objects[(kind, namespace or "", name)].body.get("status") or {}, status)
        )
        self.after(request)
        return result

    # What users, controllers and tests do to the world; none of it counts as a request of the operator.

    def create(self, manifest: Manifest) -> Manifest:
        """As `kubectl create` by somebody else."""
        return self._apply(copied(manifest), manager="somebody", force=True)

    def update(self, kind: str, namespace: str, name: str, *, change: Callable[[Manifest], object]) -> Manifest:
        """As a PUT by somebody else: fields whose value changes leave the sets of their owners."""
        stored = self._objects[(kind, namespace, name)]
        body = copied(stored.body)
        change(body)
        for manager, paths in list(stored.managers.items()):
            kept = frozenset(p for p in paths if value_at(body, p, kind=kind) == value_at(stored.body, p, kind=kind))
            stored.managers[manager] = kept
        return self._store((kind, namespace, name), stored, body, managers_changed=True)

    def set_status(self, kind: str, namespace: str, name: str, *, status: Mapping[str, Any]) -> Manifest:
        stored = self._objects[(kind, namespace, name)]
        return self._store((kind, namespace, name), stored, {**stored.body, "status": copied(dict(status))})

    def find(self, kind: str, namespace: str, name: str) -> Manifest | None:
        stored = self._objects.get((kind, namespace, name))
        return self._shown(stored) if stored else None

    def all(self, kind: str | None = None) -> list[Manifest]:
        return [self._shown(stored) for (of_kind, _, _), stored in sorted(self._objects.items()) if kind in (None, of_kind)]

    def remove(self, kind: str, namespace: str, name: str) -> None:
        """As `kubectl delete`: an object with finalizers only gets its deletionTimestamp."""
        identity = (kind, namespace, name)
        stored = self._objects[identity]
        if stored.body["metadata"].get("finalizers"):
            if "deletionTimestamp" not in stored.body["metadata"]:
                body = copied(stored.body)
                body["metadata"]["deletionTimestamp"] = self.now
                self._store(identity, stored, body)
            return
        del self._objects[identity]
        self._tell("DELETED", stored)

    def collect_garbage(self) -> None:
        """One step of the garbage collector: an object whose owners are all gone goes too; a reference to one that is gone is taken out."""
        uids = {stored.body["metadata"]["uid"] for stored in self._objects.values()}
        for identity, stored in list(self._objects.items()):
            owners = stored.body["metadata"].get("ownerReferences") or []
            left = [owner for owner in owners if owner["uid"] in uids]
            if len(left) == len(owners):
                continue
            if left:
                self.update(*identity, change=lambda body, left=left: body["metadata"].update(ownerReferences=left))  # type: ignore[misc]
            elif "deletionTimestamp" not in stored.body["metadata"]:
                self.remove(*identity)

    def copy(self) -> "MemoryCluster":
        """The same objects in another server; without listeners, faults and the log of requests."""
        other = MemoryCluster()
        other._objects = {identity: _Stored(copied(stored.body), dict(stored.managers)) for identity, stored in self._objects.items()}
        other.version, other._uid, other.now = self.version, self._uid, self.now
        return other

    def writes(self) -> list[Request]:
        """Every write that the operator asked for, also one that changed nothing."""
        return [request for request in self.requests if request.is_write]

    # Inside.

    async def _begin(self, verb: str, kind: str, name: str) -> Request:
        # Others get their turn between any two requests, as they do on a network.
        await asyncio.sleep(0)
        request = Request(verb, kind, name)
        self.requests.append(request)
        self.before(request)
        return request

    def _apply(self, manifest: Manifest, *, manager: str, force: bool) -> Manifest:
        kind, metadata = manifest["kind"], manifest["metadata"]
        identity = (kind, metadata.get("namespace", ""), metadata["name"])
        stored = self._objects.get(identity)
        self._check_preconditions(metadata, stored)
        manifest.pop("status", None)
        wanted = fields_of(manifest, kind=kind)
        if stored is None:
            return self._insert(identity, manifest, manager=manager, wanted=wanted)
        live = stored.body
        others = {name: paths for name, paths in stored.managers.items() if name != manager}
        contested = {p for p in wanted if value_at(manifest, p, kind=kind) != value_at(live, p, kind=kind)}
        for name, paths in others.items():
            if (conflicts := paths & contested) and not force:
                raise Conflict(f'conflict with "{name}": {sorted(conflicts)[0]}', code=409)
            others[name] = paths - contested
        body = merged(live, {k: v for k, v in manifest.items() if k != "metadata"} | {"metadata": {**metadata}}, (), kind=kind)
        body["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
        dropped = stored.managers.get(manager, frozenset()) - wanted - frozenset().union(*others.values())
        kept = {path[:length] for path in wanted for length in range(1, len(path))}
        for path in sorted(dropped - kept, reverse=True):
            body = without(body, path, kind=kind)
        managers = {**others, manager: wanted}
        managers_changed = managers != stored.managers
        stored.managers = managers
        return self._store(identity, stored, body, managers_changed=managers_changed)

    def _check_preconditions(self, metadata: Mapping[str, Any], stored: _Stored | None) -> None:
        live = stored.body["metadata"] if stored else {}
        for name in ("uid", "resourceVersion"):
            if name in metadata and metadata[name] != live.get(name):
                raise Conflict(f"{name} mismatch: {metadata[name]} is not {live.get(name)}", code=409)

    def _insert(self, identity: Identity, manifest: Manifest, *, manager: str, wanted: frozenset[Path]) -> Manifest:
        self._uid += 1
        metadata = manifest["metadata"] | {"uid": f"uid-{self._uid}", "creationTimestamp": self.now, "generation": 1}
        if identity[0] in WITHOUT_GENERATION:
            del metadata["generation"]
        stored = _Stored({**manifest, "metadata": metadata}, {manager: wanted})
        set_defaults(stored.body)
        self._objects[identity] = stored
        self._touch(stored)
        self._tell("ADDED", stored)
        return self._shown(stored)

    def _store(self, identity: Identity, stored: _Stored, body: Manifest, *, managers_changed: bool = False) -> Manifest:
        body = copied(body)
        set_defaults(body)
        if body == stored.body and not managers_changed:
            return self._shown(stored)
        spec_changed = {k: v for k, v in body.items() if k not in {"metadata", "status"}} != {
            k: v for k, v in stored.body.items() if k not in {"metadata", "status"}
        }
        stored.body = body
        if spec_changed and "generation" in body["metadata"]:
            body["metadata"]["generation"] += 1
        self._touch(stored)
        if "deletionTimestamp" in body["metadata"] and not body["metadata"].get("finalizers"):
            del self._objects[identity]
            self._tell("DELETED", stored)
        else:
            self._tell("MODIFIED", stored)
        return self._shown(stored)

    def _touch(self, stored: _Stored) -> None:
        self.version += 1
        stored.body["metadata"]["resourceVersion"] = str(self.version)
        stored.shown = ""

    def _tell(self, event: str, stored: _Stored) -> None:
        if event == "DELETED":
            self.version += 1
        for listener in self.listeners:
            listener(event, self._shown(stored))

    def _shown(self, stored: _Stored) -> Manifest:
        """A copy as the server would answer: with managedFields and the status default."""
        if not stored.shown:
            body = copied(stored.body)
            body["metadata"]["managedFields"] = [
                {"manager": name, "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": tree_of(paths)}
                for name, paths in stored.managers.items()
                if paths
            ]
            if body["kind"] in WITH_STATUS_DEFAULT:
                body.setdefault("status", {"observedGeneration": -1})
            stored.shown = json.dumps(body)
        return cast(Manifest, json.loads(stored.shown))


def copied(value: Json) -> Json:
    """A deep copy of JSON: many times faster than the general one, and it refuses what is no JSON."""
    return cast(Json, json.loads(json.dumps(value)))


def selects(selector: str, labels: Mapping[str, str]) -> bool:
    """Label selectors of the forms `a=b` and `a`, joined by commas."""
    parts = [part.partition("=") for part in selector.split(",") if part]
    return all(name in labels and (not sign or labels[name] == value) for name, sign, value in parts)


def merge_patched(value: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, Mapping):
        return copied(patch)
    result = dict(value) if isinstance(value, Mapping) else {}
    for name, change in patch.items():
        if change is None:
            result.pop(name, None)
        else:
            result[name] = merge_patched(result.get(name), change)
    return result
