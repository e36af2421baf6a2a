"""`needs_apply` against the in-memory server's ownership: silent after our apply, loud on drift in any field we set."""

import asyncio
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tests.support.memory_cluster import MemoryCluster
from vertical_operator.kube.drift import needs_apply
from vertical_operator.kube.port import Manifest

ME = "vertical-operator"

INTENT: Manifest = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "d",
        "namespace": "n",
        "labels": {"a": "1", "b": "2"},
        "annotations": {"x": "y"},
        "finalizers": ["example.com/f"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "o", "uid": "u1", "controller": True}],
    },
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"a": "1"}},
        "template": {
            "metadata": {"labels": {"a": "1"}},
            "spec": {
                "automountServiceAccountToken": False,
                "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
                "containers": [
                    {
                        "name": "main",
                        "image": "i:1",
                        "command": ["run", "--fast"],
                        "env": [{"name": "A", "value": "1"}, {"name": "P", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
                        "ports": [{"containerPort": 8000}, {"containerPort": 8001, "protocol": "TCP"}],
                        "resources": {"requests": {"cpu": "0.5", "memory": "1024Mi"}},
                        "securityContext": {},
                    },
                    {"name": "side", "image": "i:2"},
                ],
                "volumes": [{"name": "tmp", "emptyDir": {}}, {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "131072Ki"}}],
            },
        },
    },
}


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
    live["status"] = {"readyReplicas": 2}


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


def at(*path: str | int) -> Callable[[Manifest], Any]:
    def walk(body: Manifest) -> Any:
        node: Any = body
        for step in path:
            node = node[step]
        return node

    return walk


POD = ("spec", "template", "spec")
MAIN = (*POD, "containers", 0)

DRIFTS: dict[str, Callable[[Manifest], object]] = {
    "scalar": lambda live: live["spec"].update(replicas=3),
    "label changed": lambda live: live["metadata"]["labels"].update(a="9"),
    "label removed": lambda live: live["metadata"]["labels"].pop("b"),
    "annotation removed": lambda live: live["metadata"].pop("annotations"),
    "finalizer removed": lambda live: live["metadata"].pop("finalizers"),
    "owner removed": lambda live: live["metadata"].pop("ownerReferences"),
    "owner changed": lambda live: live["metadata"]["ownerReferences"][0].update(controller=False),
    "selector": lambda live: live["spec"]["selector"]["matchLabels"].update(a="2"),
    "image": lambda live: at(*MAIN)(live).update(image="evil"),
    "container removed": lambda live: at(*POD)(live)["containers"].pop(1),
    "container renamed": lambda live: at(*POD, "containers", 1)(live).update(name="other"),
    "command argument": lambda live: at(*MAIN)(live)["command"].append("--slow"),
    "env value": lambda live: at(*MAIN)(live)["env"][0].update(value="2"),
    "env removed": lambda live: at(*MAIN)(live)["env"].pop(0),
    "env source": lambda live: at(*MAIN)(live)["env"][1]["valueFrom"]["fieldRef"].update(fieldPath="metadata.name"),
    "port removed": lambda live: at(*MAIN)(live)["ports"].pop(1),
    "request": lambda live: at(*MAIN)(live)["resources"]["requests"].update(cpu="501m"),
    "toleration": lambda live: at(*POD)(live)["tolerations"][0].update(operator="Equal"),
    "toleration added": lambda live: at(*POD)(live)["tolerations"].append({"key": "x", "operator": "Exists"}),
    "boolean": lambda live: at(*POD)(live).update(automountServiceAccountToken=True),
    "boolean as number": lambda live: at(*POD)(live).update(automountServiceAccountToken=0),
    "volume type": lambda live: at(*POD)(live)["volumes"].__setitem__(0, {"name": "tmp", "hostPath": {"path": "/"}}),
    "size": lambda live: at(*POD)(live)["volumes"][1]["emptyDir"].update(sizeLimit="64Mi"),
    "everything": lambda live: live.pop("spec"),
}


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


ADDITIONS: dict[str, Callable[[Manifest], object]] = {
    "label": lambda live: live["metadata"]["labels"].update(theirs="1"),
    "annotation": lambda live: live["metadata"]["annotations"].update({"deployment.kubernetes.io/revision": "1"}),
    "container": lambda live: at(*POD)(live)["containers"].append({"name": "istio", "image": "x"}),
    "env": lambda live: at(*MAIN)(live)["env"].append({"name": "THEIRS", "value": "1"}),
    "field": lambda live: live["spec"].update(paused=True),
    "finalizer": lambda live: live["metadata"]["finalizers"].append("foregroundDeletion"),
}


@pytest.mark.parametrize("addition", ADDITIONS.values(), ids=ADDITIONS.keys())
def test_what_others_add_beside_our_fields_is_theirs(addition: Callable[[Manifest], object]) -> None:
    cluster, _ = applied()
    live = cluster.update("Deployment", "n", "d", change=lambda body: addition(body) and None)
    assert not needs_apply(INTENT, live, field_manager=ME)


REMOVALS: dict[str, Callable[[Manifest], object]] = {
    "label": lambda intent: intent["metadata"]["labels"].pop("b"),
    "all annotations": lambda intent: intent["metadata"].pop("annotations"),
    "finalizer": lambda intent: intent["metadata"].pop("finalizers"),
    "owner": lambda intent: intent["metadata"].pop("ownerReferences"),
    "replicas": lambda intent: intent["spec"].pop("replicas"),
    "container": lambda intent: at(*POD)(intent)["containers"].pop(1),
    "env": lambda intent: at(*MAIN)(intent)["env"].pop(0),
    "port": lambda intent: at(*MAIN)(intent)["ports"].pop(0),
    "resources": lambda intent: at(*MAIN)(intent).pop("resources"),
    "tolerations": lambda intent: at(*POD)(intent).pop("tolerations"),
    "empty struct": lambda intent: at(*MAIN)(intent).pop("securityContext"),
    "volume": lambda intent: at(*POD)(intent)["volumes"].pop(0),
}


@pytest.mark.parametrize("removal", REMOVALS.values(), ids=REMOVALS.keys())
def test_a_field_that_we_stopped_sending_needs_an_apply_which_removes_it(removal: Callable[[Manifest], object]) -> None:
    cluster, live = applied(defaults=False)
    smaller = deepcopy(INTENT)
    removal(smaller)
    assert needs_apply(smaller, live, field_manager=ME)
    after = asyncio.run(cluster.apply(smaller, field_manager=ME))
    assert not needs_apply(smaller, after, field_manager=ME)
    assert needs_apply(INTENT, after, field_manager=ME)


CHANGES: dict[str, Callable[[Manifest], object]] = {
    "new label": lambda intent: intent["metadata"]["labels"].update(c="3"),
    "new container": lambda intent: at(*POD)(intent)["containers"].append({"name": "third", "image": "i:3"}),
    "new owner": lambda intent: intent["metadata"]["ownerReferences"].append({"apiVersion": "v1", "kind": "K", "name": "p", "uid": "u2"}),
    "shorter command": lambda intent: at(*MAIN)(intent)["command"].pop(),
    "empty list": lambda intent: at(*MAIN)(intent).update(command=[]),
    "other quantity": lambda intent: at(*MAIN)(intent)["resources"]["requests"].update(memory="1Mi"),
    "filled struct": lambda intent: at(*MAIN)(intent)["securityContext"].update(readOnlyRootFilesystem=True),
}


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
