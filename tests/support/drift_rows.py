"""A Deployment as the operator would apply it, and every way in which it can drift or change: for the in-memory server and the real one."""

from collections.abc import Callable
from typing import Any

from vertical_operator.kube.port import Manifest

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
        "replicas": 0,
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

ONLY_IN_MEMORY = frozenset({"selector", "boolean as number", "everything"})
"""Drifts that a real server does not let happen."""

NOT_REPAIRABLE = frozenset({"volume type"})
"""Drifts that a real server refuses to repair, since both managers would own one of two exclusive fields: a person has to look."""

ADDITIONS: dict[str, Callable[[Manifest], object]] = {
    "label": lambda live: live["metadata"]["labels"].update(theirs="1"),
    "annotation": lambda live: live["metadata"]["annotations"].update({"deployment.kubernetes.io/revision": "1"}),
    "container": lambda live: at(*POD)(live)["containers"].append({"name": "istio", "image": "x"}),
    "env": lambda live: at(*MAIN)(live)["env"].append({"name": "THEIRS", "value": "1"}),
    "field": lambda live: live["spec"].update(paused=True),
    "finalizer": lambda live: live["metadata"]["finalizers"].append("foregroundDeletion"),
}

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

CHANGES: dict[str, Callable[[Manifest], object]] = {
    "new label": lambda intent: intent["metadata"]["labels"].update(c="3"),
    "new container": lambda intent: at(*POD)(intent)["containers"].append({"name": "third", "image": "i:3"}),
    "new owner": lambda intent: intent["metadata"]["ownerReferences"].append({"apiVersion": "v1", "kind": "K", "name": "p", "uid": "u2"}),
    "shorter command": lambda intent: at(*MAIN)(intent)["command"].pop(),
    "empty list": lambda intent: at(*MAIN)(intent).update(command=[]),
    "other quantity": lambda intent: at(*MAIN)(intent)["resources"]["requests"].update(memory="1Mi"),
    "filled struct": lambda intent: at(*MAIN)(intent)["securityContext"].update(readOnlyRootFilesystem=True),
}
