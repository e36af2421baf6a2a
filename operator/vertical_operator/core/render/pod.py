"""Parts that every pod of ours shares: restricted security, volumes, node selection and the busybox that copies out of users' images."""

from typing import Any

from vertical_engines.contract.build import EXIT_USER_ERROR
from vertical_engines.contract.engine import Accelerator
from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.serving import SCRATCH_PATH, TOOLS_PATH
from vertical_operator.api.v1alpha1.group import GPU_PRODUCT_LABEL, GPU_RESOURCE
from vertical_operator.api.v1alpha1.variant import Resources, Toleration
from vertical_operator.core.intents import Manifest

USER = 1000
BUSYBOX = f"{TOOLS_PATH}/busybox"

CONTAINER_SECURITY: Manifest = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}

COPY_SCRIPT = """\
set -e
b=$0
if [ ! -e "$1" ]; then
  there=$1
  while [ ! -d "$there" ]; do there=$("$b" dirname "$there"); done
  content=$("$b" ls -A "$there" | "$b" head -n 20 | "$b" tr -d '"\\\\' | "$b" tr '\\n' ' ')
  printf '{"failure":{"reason":"%s","message":"%s has no %s; %s holds: %s"}}' "$3" "$4" "$1" "$there" "$content" > /dev/termination-log
  exit EXIT
fi
if [ -d "$1" ]; then "$b" cp -R "$1"/. "$2"/; else "$b" cp "$1" "$2"/; fi
""".replace("EXIT", str(EXIT_USER_ERROR))
"""Arguments: busybox, path, target folder, reason and name of the source. Nothing of the image itself is run, so it may hold data only."""


def mount(name: str, path: str, *, read_only: bool = False) -> Manifest:
    return {"name": name, "mountPath": path} | ({"readOnly": True} if read_only else {})


def empty_volume(name: str) -> Manifest:
    return {"name": name, "emptyDir": {}}


def claim_volume(name: str, claim: str, *, read_only: bool = False) -> Manifest:
    """`read_only` keeps the kubelet from changing the group of a user's files; our own store is read only by its mounts."""
    return {"name": name, "persistentVolumeClaim": {"claimName": claim} | ({"readOnly": True} if read_only else {})}


TOOLS_VOLUME = empty_volume("tools")
SCRATCH_VOLUME = empty_volume("scratch")
SCRATCH_MOUNT = mount("scratch", SCRATCH_PATH)


def container(name: str, image: str, *, command: list[str], mounts: list[Manifest], **more: Any) -> Manifest:
    """A container under Pod Security `restricted` with a read-only root."""
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": command,
        **more,
        "securityContext": CONTAINER_SECURITY,
        "volumeMounts": mounts,
    }


def tools_container(image: str) -> Manifest:
    """Puts a static busybox where the containers of users' images find it."""
    return container("tools", image, command=["/bin/busybox", "cp", "/bin/busybox", BUSYBOX], mounts=[mount("tools", TOOLS_PATH)])


def copy_container(name: str, image: str, *, path: str, target: Manifest, reason: Reason, source: str) -> Manifest:
    """Copies a folder out of a user's image; a path that is not there ends as `reason`, with a list of what is there."""
    command = [BUSYBOX, "sh", "-c", COPY_SCRIPT, BUSYBOX, path, target["mountPath"], reason.value, source]
    return container(name, image, command=command, mounts=[mount("tools", TOOLS_PATH, read_only=True), target])


def shared_memory(accelerator: Accelerator | None) -> Manifest:
    """/dev/shm for Triton's Python models, and for the exchange between the processes of several GPUs, which takes far more."""
    size = "1Gi" if accelerator and accelerator.count > 1 else "128Mi"
    return {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": size}}


def node_selector(given: dict[str, str], accelerator: Accelerator | None) -> dict[str, str]:
    return {**given, **({GPU_PRODUCT_LABEL: accelerator.product} if accelerator else {})}


def tolerations(given: tuple[Toleration, ...], accelerator: Accelerator | None) -> list[Manifest]:
    """The user's, and the usual taint of GPU nodes where a GPU is asked for."""
    wanted = [toleration.model_dump(mode="json", by_alias=True, exclude_none=True) for toleration in given]
    gpu = {"key": GPU_RESOURCE, "operator": "Exists"}
    return [*wanted, gpu] if accelerator and gpu not in wanted else wanted


def resources(given: Resources | None, accelerator: Accelerator | None) -> Manifest:
    """The user's requests and limits, with the placement's GPUs as a limit."""
    requests = dict(given.requests) if given else {}
    limits = dict(given.limits) if given else {}
    if accelerator:
        requests.pop(GPU_RESOURCE, None)  # a request that differs from the limit is refused by the API server
        limits[GPU_RESOURCE] = accelerator.count
    return {key: value for key, value in (("requests", requests), ("limits", limits)) if value}


def pod_spec(
    *,
    volumes: list[Manifest],
    init: list[Manifest],
    main: Manifest,
    nodes: dict[str, str],
    tolerated: list[Manifest],
    pull_secrets: list[str],
    **more: Any,
) -> Manifest:
    """A pod without a service account token, as user 1000, with the given containers."""
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        **({"nodeSelector": nodes} if nodes else {}),
        **({"tolerations": tolerated} if tolerated else {}),
        **({"imagePullSecrets": [{"name": name} for name in pull_secrets]} if pull_secrets else {}),
        **more,
        **({"initContainers": init} if init else {}),
        "containers": [main],
        "volumes": volumes,
    }
