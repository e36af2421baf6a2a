"""`needs_apply` against the in-memory server's ownership: silent after our apply, loud on drift in any field we set."""

import asyncio
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tests.support.drift_rows import ADDITIONS, CHANGES, DRIFTS, INTENT, MAIN, REMOVALS, at
from tests.support.memory_cluster import MemoryCluster
from vertical_operator.kube.drift import needs_apply
from vertical_operator.kube.port import Manifest

ME = "vertical-operator"


def server_defaults(live: Manifest) -> None:
    """What a real server adds or rewrites without taking anything from us."""
    live["spec"]["progressDeadlineSeconds"] = 600
    pod = live["spec"]["template"]["spec"]
    pod["restartPolicy"] = "Always"
    pod["volumes"][1]["emptyDir"]["sizeLimit"] = "128Mi"
    main = pod["containers"][0]
    main["ports"][0]["protocol"] = "TCP"
    main["env"][1]["valueFrom"]["fieldRef"]["apiVersion"] = "v1"
    main["resources"]["requests"] = {"cpu": "500m", "memory": "1Gi"}
    live["status"] = {"readyReplicas": 0}


def applied(intent: Manifest = INTENT, *, defaults: bool = True) -> tuple[MemoryCluster, Manifest]:
    cluster = MemoryCluster()
    live = asyncio.run(cluster.apply(deepcopy(intent), field_manager=ME))
    if defaults:
        server_defaults(live)
    return cluster, live


def test_an_absent_object_is_applied() -> None:
    assert needs_apply(INTENT, None, field_manager=ME)


def test_our_own_apply_with_the_servers_defaults_on_top_needs_no_other() -> None:
    _, live = applied()
    assert not needs_apply(INTENT, live, field_manager=ME)


def test_an_object_that_another_manager_applied_is_applied() -> None:
    _, live = applied()
    assert needs_apply(INTENT, live, field_manager="somebody-else")


@pytest.mark.parametrize("drift", DRIFTS.values(), ids=DRIFTS.keys())
@pytest.mark.parametrize("ownership", ["kept", "lost"])
def test_drift_in_any_field_of_ours_needs_an_apply(drift: Callable[[Manifest], object], ownership: str) -> None:
    """Once as a value that differs, once as the server shows it: the field has left our set as well."""
    cluster, live = applied(defaults=False)
    if ownership == "lost":
        live = cluster.update("Deployment", "n", "d", change=lambda body: drift(body) and None)
    else:
        server_defaults(live)
        drift(live)
    assert needs_apply(INTENT, live, field_manager=ME)


@pytest.mark.parametrize("addition", ADDITIONS.values(), ids=ADDITIONS.keys())
def test_what_others_add_beside_our_fields_is_theirs(addition: Callable[[Manifest], object]) -> None:
    cluster, _ = applied()
    live = cluster.update("Deployment", "n", "d", change=lambda body: addition(body) and None)
    assert not needs_apply(INTENT, live, field_manager=ME)


@pytest.mark.parametrize("removal", REMOVALS.values(), ids=REMOVALS.keys())
def test_a_field_that_we_stopped_sending_needs_an_apply_which_removes_it(removal: Callable[[Manifest], object]) -> None:
    cluster, live = applied(defaults=False)
    smaller = deepcopy(INTENT)
    removal(smaller)
    assert needs_apply(smaller, live, field_manager=ME)
    after = asyncio.run(cluster.apply(smaller, field_manager=ME))
    assert not needs_apply(smaller, after, field_manager=ME)
    assert needs_apply(INTENT, after, field_manager=ME)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_changed_intent_needs_an_apply_and_then_no_other(change: Callable[[Manifest], object]) -> None:
    cluster, live = applied(defaults=False)
    changed = deepcopy(INTENT)
    change(changed)
    assert needs_apply(changed, live, field_manager=ME)
    after = asyncio.run(cluster.apply(changed, field_manager=ME))
    assert not needs_apply(changed, after, field_manager=ME)


@pytest.mark.parametrize(("mine", "servers"), [("0.5", "500m"), ("1024Mi", "1Gi"), (2, "2"), ("2", "2000m"), ("1e3", "1k"), ("1000", "1k")])
def test_a_quantity_in_another_spelling_is_no_drift(mine: Any, servers: str) -> None:
    intent = deepcopy(INTENT)
    at(*MAIN)(intent)["resources"] = {"limits": {"memory": mine}}
    _, live = applied(intent, defaults=False)
    at(*MAIN)(live)["resources"]["limits"]["memory"] = servers
    assert not needs_apply(intent, live, field_manager=ME)
    at(*MAIN)(live)["resources"]["limits"]["memory"] = "3"
    assert needs_apply(intent, live, field_manager=ME)


def test_a_manifest_of_identity_only_is_current_once_applied() -> None:
    intent = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "n"}, "data": {"k": "1.0"}}
    _, live = applied(intent, defaults=False)
    assert not needs_apply(intent, live, field_manager=ME)
    live["data"]["k"] = "1"
    assert needs_apply(intent, live, field_manager=ME), "data of a ConfigMap is text, not a quantity"
