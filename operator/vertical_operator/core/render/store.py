"""What a pod needs to get at its engine store: the claim, or a volume of its own with the registry's address and password."""

from vertical_engines.contract.serving import STORE_PATH
from vertical_engines.contract.store import REGISTRY_CREDENTIALS_PATH, STORE_VARIABLE, RegistryStoreRequest
from vertical_operator.api.v1alpha1.stores import StoreAccess, StoreReference
from vertical_operator.core.intents import Manifest
from vertical_operator.core.render.pod import SCRATCH_MOUNT, claim_volume, container, empty_volume, mount

CREDENTIALS = "registry-credentials"


def store_volumes(store: StoreReference, access: StoreAccess) -> list[Manifest]:
    """The Secret is optional to the kubelet, so that a missing one is told in words."""
    if store.claim_name:
        return [claim_volume("store", store.claim_name)]
    secret = {"secretName": access.secret, "optional": True, "defaultMode": 0o440}
    return [empty_volume("store"), *([{"name": CREDENTIALS, "secret": secret}] if access.secret else [])]


def store_mounts(store: StoreReference, access: StoreAccess) -> list[Manifest]:
    """For containers that write into the store."""
    known = store.repository and access.secret
    return [mount("store", STORE_PATH), *([mount(CREDENTIALS, REGISTRY_CREDENTIALS_PATH, read_only=True)] if known else [])]


def store_environment(store: StoreReference, access: StoreAccess) -> list[Manifest]:
    if not store.repository:
        return []
    request = RegistryStoreRequest(repository=store.repository, insecure=access.insecure, secret=access.secret)
    return [{"name": STORE_VARIABLE, "value": request.to_json()}]


def pull_container(store: StoreReference, access: StoreAccess, *, image: str, key: str, artifact: str | None) -> list[Manifest]:
    """Brings the engine into a serving pod; none where a claim is mounted. `artifact` pins it by digest, once it is built."""
    if not store.repository:
        return []
    reference = artifact.rpartition("@")[2] if artifact else key
    command = ["vertical-engines", "pull", "--key", key, "--reference", reference, "--store", STORE_PATH]
    env = [*store_environment(store, access), {"name": "HOME", "value": "/tmp"}]
    return [container("pull", image, command=command, mounts=[*store_mounts(store, access), SCRATCH_MOUNT], env=env)]
