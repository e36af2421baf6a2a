"""Whether an object must be applied again: pure, from the intent and the live object with its `managedFields`.

The server tracks which fields an apply of ours set. Anybody who changes one of them takes it out of our set, so two questions
settle it: is our set exactly the fields of the intent, and does each of them have the value of the intent? The structure of the
set also says how a list is merged (by keys, as a set of values, or as a whole), so no schema is needed here.
"""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from vertical_operator.kube.port import Manifest

IDENTITY = frozenset({"apiVersion", "kind"})
METADATA_IDENTITY = frozenset({"name", "namespace", "uid", "resourceVersion", "generation", "managedFields", "creationTimestamp"})
"""Fields of an intent that the server never counts as managed."""

QUANTITY_PARENTS = frozenset({"limits", "requests"})
QUANTITIES = frozenset({"sizeLimit", "storage"})
SUFFIXES = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY_SUFFIXES = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}


def needs_apply(intent: Manifest, live: Manifest | None, *, field_manager: str) -> bool:
    """True unless an apply of the intent by that manager would change nothing: no value, and no ownership."""
    if live is None:
        return True
    owned = _owned_fields(live, field_manager)
    if owned is None:
        return True
    wanted = {name: value for name, value in intent.items() if name not in IDENTITY and name != "status"}
    wanted["metadata"] = {name: value for name, value in wanted.get("metadata", {}).items() if name not in METADATA_IDENTITY}
    return not _is_current({name: value for name, value in wanted.items() if name != "metadata" or value}, live, owned, quantity=False)


def _owned_fields(live: Manifest, field_manager: str) -> dict[str, Any] | None:
    """The set of fields that the manager owns by apply, outside subresources; None when it never applied the object."""
    for entry in live.get("metadata", {}).get("managedFields") or []:
        if entry.get("manager") == field_manager and entry.get("operation") == "Apply" and not entry.get("subresource"):
            fields = entry.get("fieldsV1")
            return fields if isinstance(fields, dict) else None
    return None


def _is_current(wanted: Any, live: Any, owned: Mapping[str, Any], *, quantity: bool) -> bool:
    children = {name: fields for name, fields in owned.items() if name != "."}
    if not children:
        # A scalar, or something that is merged as a whole; defaults of the server inside it are not drift.
        return _holds(wanted, live, quantity=quantity) and (not isinstance(wanted, dict) or not wanted or "." not in owned)
    if isinstance(wanted, Mapping):
        return _is_mapping_current(wanted, live, children, quantity=quantity)
    if isinstance(wanted, list):
        return _is_list_current(wanted, live, children)
    return False


def _is_mapping_current(wanted: Mapping[str, Any], live: Any, owned: Mapping[str, Any], *, quantity: bool) -> bool:
    if not isinstance(live, Mapping) or set(owned) - {f"f:{name}" for name in wanted}:
        return False
    return all(
        _is_left_out(value)
        if name not in live
        else f"f:{name}" in owned
        and _is_current(value, live[name], owned[f"f:{name}"], quantity=quantity or name in QUANTITY_PARENTS | QUANTITIES)
        for name, value in wanted.items()
    )


def _is_left_out(value: Any) -> bool:
    """Zero values are what most built-in kinds do not store at all. An empty object is stored, and means something (`emptyDir: {}`)."""
    return value in (0, "", [])


def _is_list_current(wanted: Sequence[Any], live: Any, owned: Mapping[str, Any]) -> bool:
    """A list merged by keys (`k:{...}`) or as a set (`v:...`): each owned element is one of ours, and the other way round."""
    if not isinstance(live, list) or len(wanted) != len(owned):
        return False
    for path, fields in owned.items():
        kind, _, text = path.partition(":")
        key = json.loads(text)
        if kind == "v":
            if key not in wanted or key not in live:
                return False
            continue
        mine = _element(wanted, key, strict=False)
        theirs = _element(live, key, strict=True)
        # A key that the server filled in by default (a port's protocol) counts as owned; it is not drift.
        known = {
            name: value for name, value in fields.items() if mine is None or name not in {f"f:{part}" for part in key if part not in mine}
        }
        if mine is None or theirs is None or not _is_current(mine, theirs, known, quantity=False):
            return False
    return True


def _element(items: Sequence[Any], key: Mapping[str, Any], *, strict: bool) -> Mapping[str, Any] | None:
    """The element with those key fields; not strict: one that lacks a key field, since it will get the default, counts too."""
    for item in items:
        if isinstance(item, Mapping) and all(item.get(name, None if strict else value) == value for name, value in key.items()):
            return item
    return None


def _holds(wanted: Any, live: Any, *, quantity: bool) -> bool:
    """Whether the live value holds everything that is wanted; lists have to be of one length."""
    if isinstance(wanted, Mapping):
        return isinstance(live, Mapping) and all(
            name in live and _holds(value, live[name], quantity=quantity or name in QUANTITY_PARENTS | QUANTITIES)
            for name, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(live, list)
            and len(live) == len(wanted)
            and all(_holds(a, b, quantity=False) for a, b in zip(wanted, live, strict=True))
        )
    if wanted == live and isinstance(wanted, bool) == isinstance(live, bool):
        return True
    return quantity and _amount(wanted) is not None and _amount(wanted) == _amount(live)


def _amount(value: Any) -> Decimal | None:
    """A Kubernetes quantity as a number: the server rewrites `0.5` as `500m` and `1024Mi` as `1Gi`."""
    text = str(value)
    number, exponent, binary = text, 0, 0
    if text[-2:] in BINARY_SUFFIXES:
        number, binary = text[:-2], BINARY_SUFFIXES[text[-2:]]
    elif text[-1:] in SUFFIXES and text[-1:]:
        number, exponent = text[:-1], SUFFIXES[text[-1:]]
    try:
        amount: Decimal = Decimal(number).scaleb(exponent) * 1024**binary
    except InvalidOperation:
        return None
    return amount
