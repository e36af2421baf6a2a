"""Injects faults: kills processes inside containers, makes volumes that are nearly full."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.cluster.cluster import Cluster, Object
from tests.cluster.errors import ClusterError
from tests.cluster.shell import output


def container_id(cluster: Cluster, *, namespace: str, pod: str, container: str) -> str:
    """Id of a running container in the node's runtime. Raises ClusterError when it does not run."""
    found = cluster.get("pod", pod, namespace=namespace) or {"status": {}}
    for status in [*found["status"].get("containerStatuses", []), *found["status"].get("initContainerStatuses", [])]:
        if status["name"] == container and "running" in status.get("state", {}):
            identifier: str = status["containerID"].removeprefix("containerd://")
            return identifier
    raise ClusterError(f"container {container} of pod {namespace}/{pod} does not run")


def kill_container(cluster: Cluster, *, namespace: str, pod: str, container: str, process: str = "", signal: str = "KILL") -> list[int]:
    """Send a signal to the main process of a container, or to every process in it whose command line holds `process`.

    Returns the pids, in the node's view. Raises ClusterError when no process matches: a fault that hits nothing is no test.
    """
    identifier = container_id(cluster, namespace=namespace, pod=pod, container=container)
    listed = output(cluster.provider.on_node(["ctr", "-n", "k8s.io", "tasks", "ps", identifier]))
    pids = [int(line.split()[0]) for line in listed.splitlines()[1:]]
    pids = [pid for pid in pids if process in _command_line(cluster, pid)] if process else pids[:1]
    if not pids:
        raise ClusterError(f"no process of container {container} in pod {namespace}/{pod} matches {process!r}")
    output(cluster.provider.on_node(["sh", "-c", f"kill -{signal} {' '.join(map(str, pids))}"]))
    return pids


def _command_line(cluster: Cluster, pid: int) -> str:
    return output(cluster.provider.on_node(["sh", "-c", f"tr '\\0' ' ' </proc/{pid}/cmdline 2>/dev/null || true"]))


@contextmanager
def small_volume(cluster: Cluster, *, namespace: str, claim: str, size: str = "4Mi") -> Iterator[str]:
    """A bound claim of that name on a file system that holds no more than `size`; writable for everybody, ReadWriteMany."""
    volume = f"small-{namespace}-{claim}"
    path = f"{cluster.provider.volumes}/{volume}"
    octets = _octets(size)
    output(cluster.provider.on_node(["sh", "-c", f"mkdir -p {path} && mount -t tmpfs -o size={octets},mode=0777 tmpfs {path}"]))
    try:
        cluster.apply([_volume(volume, path=path, size=size), _claim(claim, namespace=namespace, volume=volume, size=size)])
        yield claim
    finally:
        cluster.delete("persistentvolumeclaim", claim, namespace=namespace, wait=False)
        cluster.delete("persistentvolume", volume, wait=False)
        output(cluster.provider.on_node(["sh", "-c", f"umount -l {path} && rmdir {path}"]))


@contextmanager
def read_only(cluster: Cluster, *, namespace: str, claim: str) -> Iterator[None]:
    """The file system of a small volume takes no writes meanwhile."""
    path = f"{cluster.provider.volumes}/small-{namespace}-{claim}"
    output(cluster.provider.on_node(["sh", "-c", f"mount -o remount,ro {path}"]))
    try:
        yield
    finally:
        output(cluster.provider.on_node(["sh", "-c", f"mount -o remount,rw {path}"]))


def _octets(size: str) -> int:
    units = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
    return int(size[:-2]) * units[size[-2:]] if size[-2:] in units else int(size)


def _volume(name: str, *, path: str, size: str) -> Object:
    spec = {"capacity": {"storage": size}, "accessModes": ["ReadWriteMany", "ReadWriteOnce"], "storageClassName": "small"}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {**spec, "hostPath": {"path": path}, "persistentVolumeReclaimPolicy": "Retain"},
    }


def _claim(name: str, *, namespace: str, volume: str, size: str) -> Object:
    spec = {"accessModes": ["ReadWriteMany"], "storageClassName": "small", "volumeName": volume}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {**spec, "resources": {"requests": {"storage": size}}},
    }
