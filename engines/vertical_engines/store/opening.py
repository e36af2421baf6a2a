"""Which engine store a container was given: the registry that its environment names, else the mounted volume."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.store import REGISTRY_CONFIG, REGISTRY_CREDENTIALS_PATH, STORE_VARIABLE, RegistryStoreRequest
from vertical_engines.failure import Failure
from vertical_engines.progress import Say
from vertical_engines.store.protocol import EngineStore
from vertical_engines.store.volume import VolumeStore

if TYPE_CHECKING:
    from vertical_engines.store.registry import RegistryStore


def open_store(path: Path, *, say: Say) -> EngineStore:
    """`path` is the volume, or the folder in which engines are built before they are pushed. Raises InvalidSpec, StoreUnavailable."""
    if not os.environ.get(STORE_VARIABLE):
        return VolumeStore(path, say=say)
    return open_registry(path, say=say)


def open_registry(path: Path, *, say: Say, credentials: Path = Path(REGISTRY_CREDENTIALS_PATH)) -> "RegistryStore":
    """The registry of the environment, with the password that is mounted."""
    # The client's library is loaded only where it is used.
    from vertical_engines.store.registry import RegistryStore
    from vertical_engines.store.registry_client import Repository

    try:
        request = RegistryStoreRequest.model_validate_json(os.environ.get(STORE_VARIABLE, ""))
    except ValidationError as error:
        raise Failure(Reason.INVALID_SPEC, f"{STORE_VARIABLE} is not understood by this image: {error.errors()[0]['msg']}") from None
    return RegistryStore(Repository(request, credentials=credentials / REGISTRY_CONFIG), scratch=path, say=say)
