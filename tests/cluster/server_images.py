"""Images and pods of the servers that stores and sources are tested against on a cluster: an OCI registry and an S3 server."""

import os
import shutil
import tempfile
from pathlib import Path

from tests.cluster.cluster import Cluster, Object
from tests.cluster.gotools import TOOLS, ensure_tools, fingerprint
from tests.cluster.image_archive import write_image
from tests.cluster.locations import cache_folder, images_folder
from tests.cluster.packages import unpacked

REGISTRY = "localhost/vertical-test-registry:1"
OBJECT_STORE = "localhost/vertical-test-s3:1"
REGISTRY_PORT, OBJECT_STORE_PORT = 5000, 7070
REGISTRY_SETTINGS = """\
version: 0.1
log: {level: warn}
storage: {filesystem: {rootdirectory: /data}, delete: {enabled: true}}
http: {addr: ":5000"}
"""
LIBRARIES = ("lib/x86_64-linux-gnu/libc.so.6", "lib64/ld-linux-x86-64.so.2")
"""All that Debian's registry is linked against."""


def registry_image() -> Path:
    """Debian's docker-registry with the C library beside it, unpacked and not installed."""
    archive = images_folder() / "vertical-test-registry-1.tar"
    if not archive.exists():
        package = unpacked(("docker-registry", "libc6"))
        with tempfile.TemporaryDirectory(dir=cache_folder()) as work:
            root = Path(work)
            for name in LIBRARIES:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(package / name, root / name)
                (root / name).chmod(0o755)
            shutil.copy2(package / "usr/bin/docker-registry", root / "docker-registry")
            (root / "config.yml").write_text(REGISTRY_SETTINGS)
            (root / "config.yml").chmod(0o644)
            root.chmod(0o755)
            write_image(REGISTRY, root, archive, entrypoint=["/docker-registry", "serve", "/config.yml"])
    return archive


def object_store_image() -> Path:
    archive = images_folder() / f"vertical-test-s3-{fingerprint(TOOLS['versitygw'])[:12]}.tar"
    if not archive.exists():
        binary = ensure_tools(["versitygw"]) / "versitygw"
        with tempfile.TemporaryDirectory(dir=cache_folder()) as work:
            os.link(binary, Path(work) / "versitygw")
            write_image(OBJECT_STORE, Path(work), archive, entrypoint=["/versitygw"])
    return archive


def serve(cluster: Cluster, name: str, *, namespace: str, image: str, port: int, mounts: list[str], **container: object) -> None:
    """A pod under Pod Security `restricted` with empty volumes at the mounts, behind a Service of its name; returns when it is ready."""
    volumes = {f"data-{number}": path for number, path in enumerate(mounts)}
    main: Object = {
        "name": name,
        "image": image,
        "imagePullPolicy": "Never",
        "ports": [{"containerPort": port}],
        "readinessProbe": {"tcpSocket": {"port": port}, "periodSeconds": 1},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": True},
        "volumeMounts": [{"name": volume, "mountPath": path} for volume, path in volumes.items()],
        **container,
    }
    security = {"runAsNonRoot": True, "runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 1000, "seccompProfile": {"type": "RuntimeDefault"}}
    pod: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"server": name}},
        "spec": {
            "automountServiceAccountToken": False,
            "securityContext": security,
            "containers": [main],
            "volumes": [{"name": volume, "emptyDir": {}} for volume in volumes],
        },
    }
    service: Object = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"server": name}, "ports": [{"port": port}]},
    }
    cluster.apply([pod, service], namespace=namespace)
    cluster.wait("pod", name, namespace=namespace)
