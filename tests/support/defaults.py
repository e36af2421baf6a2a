"""What a real API server adds to or rewrites in built-in kinds, as far as the operator sends them: the in-memory cluster does the same."""

from collections.abc import Iterator
from typing import Any

from vertical_operator.kube.port import Manifest


def set_defaults(body: Manifest) -> None:
    """Fill in defaults in place, as the server does after each write."""
    kind, spec = body["kind"], body.get("spec")
    if spec is None:
        return
    if kind == "Service":
        spec.setdefault("type", "ClusterIP")
        spec.setdefault("sessionAffinity", "None")
        spec.setdefault("clusterIP", "10.96.0.1")
        for port in spec.get("ports") or []:
            port.setdefault("protocol", "TCP")
            port.setdefault("targetPort", port["port"])
    elif kind == "PersistentVolumeClaim":
        spec.setdefault("volumeMode", "Filesystem")
    elif kind == "Deployment":
        spec.setdefault("replicas", 1)
        spec.setdefault("revisionHistoryLimit", 10)
        spec.setdefault("progressDeadlineSeconds", 600)
        _pod_defaults(spec["template"], restart="Always")
    elif kind == "Job":
        spec.setdefault("completions", 1)
        spec.setdefault("parallelism", 1)
        spec.setdefault("suspend", False)
        spec.setdefault("backoffLimit", 6)
        labels = {"batch.kubernetes.io/controller-uid": body["metadata"]["uid"], "batch.kubernetes.io/job-name": body["metadata"]["name"]}
        spec.setdefault("selector", {"matchLabels": {"batch.kubernetes.io/controller-uid": body["metadata"]["uid"]}})
        spec["template"].setdefault("metadata", {}).setdefault("labels", {}).update(labels)
        _pod_defaults(spec["template"], restart="Never")


def _pod_defaults(template: Manifest, *, restart: str) -> None:
    pod = template["spec"]
    pod.setdefault("restartPolicy", restart)
    pod.setdefault("dnsPolicy", "ClusterFirst")
    pod.setdefault("schedulerName", "default-scheduler")
    pod.setdefault("securityContext", {})
    pod.setdefault("terminationGracePeriodSeconds", 30)
    for container in (*(pod.get("initContainers") or []), *pod["containers"]):
        container.setdefault("imagePullPolicy", "IfNotPresent")
        container.setdefault("terminationMessagePath", "/dev/termination-log")
        container.setdefault("terminationMessagePolicy", "File")
        container.setdefault("resources", {})
        for name in [name for name in ("command", "args") if container.get(name) == []]:
            del container[name]
        for port in container.get("ports") or []:
            port.setdefault("protocol", "TCP")
        for variable in container.get("env") or []:
            if "fieldRef" in variable.get("valueFrom", {}):
                variable["valueFrom"]["fieldRef"].setdefault("apiVersion", "v1")
        for probe in (container[name] for name in ("startupProbe", "readinessProbe", "livenessProbe") if name in container):
            for name, value in (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)):
                probe.setdefault(name, value)
            if "httpGet" in probe:
                probe["httpGet"].setdefault("scheme", "HTTP")
    for volume in pod.get("volumes") or []:
        for source in (volume.get(name) for name in ("configMap", "secret")):
            if source is not None:
                source.setdefault("defaultMode", 420)
    for quantities in _quantities(pod):
        quantities.update({name: _canonical(value) for name, value in quantities.items()})


def _quantities(pod: Manifest) -> Iterator[dict[str, Any]]:
    for container in (*(pod.get("initContainers") or []), *pod["containers"]):
        yield from container["resources"].values()


def _canonical(value: Any) -> str:
    """The few spellings that tests use."""
    return {"0.5": "500m", "1024Mi": "1Gi", "1000m": "1"}.get(str(value), str(value))
