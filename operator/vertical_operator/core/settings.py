"""What the installation decides: images, registry and deadlines. The runtime fills it from environment and flags."""

from pydantic import ConfigDict, Field

from vertical_engines.contract.frozen import Frozen
from vertical_engines.contract.toolchains import Matrix, matrix


class OperatorSettings(Frozen):
    """All times in seconds."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    matrix: Matrix = Field(default_factory=matrix)
    """Releases and GPUs that are known: those built in, and what the installation adds."""

    registry: str = ""
    """Prefix put before the images of the compatibility matrix, such as a mirror's host and folder; users' images stay as they are."""
    toolchain_images: dict[str, str] = Field(default_factory=dict)
    """Other images for rows of the matrix, by `<backend>/<release>`; the registry prefix is not put before these."""
    hub_endpoint: str = ""
    """Mirror of the hub for sources that name none; empty: the public one."""
    model_proxy: str = ""
    """HTTP proxy of fetches whose source names none."""
    model_no_proxy: str = ""
    """Hosts that are reached without the proxy, separated by commas."""
    offline: bool = False
    """There is no hub: a source of one needs its cache on a claim, and is told so at once."""
    build_deadline: int = 3600
    """activeDeadlineSeconds of a build Job."""
    build_retries: int = 3
    """backoffLimit of a build Job."""
    retry_after: int = 600
    """A failed build that may succeed later (store full, deadline) is tried again so long after its end."""
    image_deadline: int = 300
    """A pod that can't pull an image for so long makes the owner Stalled."""
    store_deadline: int = 120
    """A missing store or source claim for so long after the Engine's creation makes it Stalled."""
    rollout_deadline: int = 600
    """progressDeadlineSeconds of Deployments."""
    remove_deadline: int = 120
    """Longest wait for the removal of an engine's files."""
    patience: int = 30
    """Seconds between looks at things that send no events to us (nodes, foreign objects)."""
