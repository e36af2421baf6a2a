"""Field sets of server-side apply for the in-memory cluster: which leaves a manifest sets, and how two objects merge.

A path is a tuple of the segments that `managedFields` uses: `f:name` for a field, `k:{...}` for an element of a keyed list,
`v:...` for an element of a set, `.` for the element itself.
"""

import json
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

Path = tuple[str, ...]

KEYED_LISTS: dict[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "volumeMounts": ("mountPath",),
    "imagePullSecrets": ("name",),
    "ownerReferences": ("uid",),
    "conditions": ("type",),
}
SETS = frozenset({"finalizers"})
ATOMIC_MAPS = frozenset({"selector", "fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef"})
"""Label selectors and references are replaced as a whole."""
UNMANAGED = {
    (): frozenset({"f:apiVersion", "f:kind", "f:status"}),
    ("f:metadata",): frozenset(
        f"f:{name}"
        for name in ("name", "namespace", "uid", "resourceVersion", "generation", "managedFields", "creationTimestamp", "deletionTimestamp")
    ),
}


def list_keys(path: Path, *, kind: str) -> tuple[str, ...] | None:
    """Key fields of the list at a path; None when it is merged as a whole."""
    name = path[-1].removeprefix("f:")
    if name == "ports":
        return ("port", "protocol") if kind == "Service" else ("containerPort", "protocol")
    return KEYED_LISTS.get(name)


def fields_of(manifest: Mapping[str, Any], *, kind: str) -> frozenset[Path]:
    """The leaves that a manifest sets."""
    return frozenset(_fields(manifest, (), kind))


def _fields(value: Any, path: Path, kind: str) -> Iterable[Path]:
    if isinstance(value, Mapping) and not (path and path[-1].removeprefix("f:") in ATOMIC_MAPS):
        names = [f"f:{name}" for name in value]
        if not names:
            yield path
        for segment in names:
            if segment not in UNMANAGED.get(path, ()):
                yield from _fields(value[segment[2:]], (*path, segment), kind)
    elif isinstance(value, list) and path and path[-1].removeprefix("f:") in SETS:
        yield from ((*path, f"v:{json.dumps(item)}") for item in value)
    elif isinstance(value, list) and (keys := list_keys(path, kind=kind)):
        for item in value:
            element = (*path, key_segment(item, keys))
            if path[-1] == "f:ownerReferences":
                yield element
                continue
            yield (*element, ".")
            yield from _fields(item, element, kind)
    else:
        yield path


def key_segment(item: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    """`k:{...}` of an element; a missing protocol is the server's default."""
    return "k:" + json.dumps({key: item.get(key, "TCP") for key in sorted(keys)}, separators=(",", ":"))


def tree_of(paths: Iterable[Path]) -> dict[str, Any]:
    """`fieldsV1` of a set of paths."""
    tree: dict[str, Any] = {}
    for path in sorted(paths):
        node = tree
        for segment in path:
            node = node.setdefault(segment, {})
    return tree


def merged(live: Any, manifest: Any, path: Path, *, kind: str) -> Any:
    """The live value with everything of the manifest in it."""
    name = path[-1].removeprefix("f:") if path else ""
    if isinstance(live, Mapping) and isinstance(manifest, Mapping) and name not in ATOMIC_MAPS:
        result = dict(live)
        for key, value in manifest.items():
            result[key] = merged(live[key], value, (*path, f"f:{key}"), kind=kind) if key in live else deepcopy(value)
        return result
    if isinstance(live, list) and isinstance(manifest, list):
        if name in SETS:
            return [*live, *(item for item in manifest if item not in live)]
        if path and (keys := list_keys(path, kind=kind)):
            return _merged_list(live, manifest, path, keys=keys, kind=kind)
    return deepcopy(manifest)


def _merged_list(live: list[Any], manifest: list[Any], path: Path, *, keys: tuple[str, ...], kind: str) -> list[Any]:
    """Elements that were there keep their order; new ones follow."""
    known = {key_segment(item, keys): item for item in live}
    wanted = {key_segment(item, keys): item for item in manifest}
    whole = path[-1] == "f:ownerReferences"
    both = {
        segment: item
        if segment not in wanted
        else deepcopy(wanted[segment])
        if whole
        else merged(item, wanted[segment], (*path, segment), kind=kind)
        for segment, item in known.items()
    }
    return [*both.values(), *(deepcopy(item) for segment, item in wanted.items() if segment not in known)]


def without(value: Any, path: Path, *, kind: str, at: Path = ()) -> Any:
    """The value with the leaf at a path taken out; containers that become empty go with it."""
    if len(path) == 0:
        return None
    head, rest = path[0], path[1:]
    if head.startswith("f:") and isinstance(value, dict) and head[2:] in value:
        child = without(value[head[2:]], rest, kind=kind, at=(*at, head)) if rest else None
        return {k: v for k, v in value.items() if k != head[2:]} | ({head[2:]: child} if child not in (None, {}, []) else {})
    if isinstance(value, list) and head.startswith("v:"):
        return [item for item in value if json.dumps(item) != head[2:]]
    if isinstance(value, list) and head.startswith("k:"):
        keys = list_keys(at, kind=kind) or ()
        if rest in ((), (".",)):
            return [item for item in value if key_segment(item, keys) != head]
        return [without(item, rest, kind=kind, at=(*at, head)) if key_segment(item, keys) == head else item for item in value]
    return value


def value_at(value: Any, path: Path, *, kind: str, at: Path = ()) -> Any:
    """What stands at a path, or None."""
    for index, segment in enumerate(path):
        if segment == ".":
            return True
        if segment.startswith("f:"):
            value = value.get(segment[2:]) if isinstance(value, Mapping) else None
        elif segment.startswith("v:"):
            value = segment[2:] if isinstance(value, list) and json.loads(segment[2:]) in value else None
        else:
            keys = list_keys(path[:index], kind=kind) or ()
            value = next((item for item in value or [] if key_segment(item, keys) == segment), None)
    return value
