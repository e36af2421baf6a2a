"""Where an engine store is, as the operator tells a container: a mounted volume, or a repository of an OCI registry."""

from vertical_engines.contract.frozen import Frozen

STORE_VARIABLE = "VERTICAL_ENGINE_STORE"
"""Environment variable that holds a RegistryStoreRequest as JSON; unset: the store is the mounted volume."""

REGISTRY_CREDENTIALS_PATH = "/registry-credentials"
REGISTRY_CONFIG = ".dockerconfigjson"
"""Where the pull Secret is mounted, and the name of its one entry."""


class RegistryStoreRequest(Frozen):
    repository: str
    """Host, port and folder, such as registry.example.com/engines."""
    insecure: bool = False
    """Plain HTTP."""
    secret: str | None = None
    """Name of the Secret, for messages."""
