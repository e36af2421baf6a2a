"""The container engine that kind uses: how to call it and how to get into its network."""

from dataclasses import dataclass, field

from tests.cluster.errors import ClusterError
from tests.cluster.provider import container_engine


@dataclass(frozen=True)
class Engine:
    """`command` starts the client; `prefix` precedes a command that must see the engine's published ports."""

    command: tuple[str, ...]
    prefix: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    kind_options: tuple[str, ...] = ()


def find_engine() -> Engine:
    """The machine's own Docker or Podman. Raises ClusterError when none answers."""
    client = container_engine()
    if client is None:
        raise ClusterError("no container engine answers", remedy="start Docker or Podman, or use --provider native")
    return Engine(command=(client,), environment={"KIND_EXPERIMENTAL_PROVIDER": client})
