"""The fetch request (operator to the init container `fetch`), its road to the source, and the record of what was fetched."""

from pydantic import Field

from vertical_engines.contract.engine import ModelSource
from vertical_engines.contract.frozen import Frozen
from vertical_engines.contract.manifest import EngineFile

FETCH_VARIABLE = "VERTICAL_FETCH_REQUEST"
"""Environment variable that holds the request as JSON. It never holds a secret: those are mounted as files."""

CREDENTIALS_PATH = "/credentials"
"""Where the source's Secret is mounted; empty when there is none."""
TOKEN_FILE = "token"
"""File of a hub's access token."""
HUB_CACHE_PATH = "/hub-cache"
"""Where a claim with a hub's cache is mounted, read only."""

MODEL_FILES = "files"
SOURCE_RECORD = "source.json"
"""What `fetch` leaves in the model volume: the files in a folder of their own, and the record beside it."""

PROGRESS_PORT = 8097
"""Of a fetching container: GET / gives its newest line of progress as text. The operator asks, since the pod has no API token."""
PROGRESS_LIMIT = 300
"""Bytes of that line."""


class ModelAccess(Frozen):
    """The road to a model source. Changing it changes no engine key."""

    endpoint: str | None = None
    """Address of the hub or object store, when it is not the public one."""
    region: str | None = None
    proxy: str | None = None
    no_proxy: str | None = None
    secret: str | None = None
    """Name of the Secret, for messages; what it holds is under CREDENTIALS_PATH."""
    offline: bool = False
    """Read the hub's cache under HUB_CACHE_PATH and nothing else."""


class FetchRequest(Frozen):
    source: ModelSource
    access: ModelAccess = ModelAccess()


class FetchedSource(Frozen):
    """What was fetched: `revision` is the commit that the asked one stood for, where the source has commits."""

    origin: str
    revision: str | None = None
    files: list[EngineFile] = Field(default_factory=list)
