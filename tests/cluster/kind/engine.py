"""The container engine that kind uses: how to call it and how to get into its network."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Engine:
    """`client` is the command; `prefix` precedes a command that must see the engine's published ports."""

    client: tuple[str, ...]
    prefix: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


def installed_engine(client: str) -> Engine:
    """The machine's own Docker or Podman."""
    return Engine(client=(client,), environment={"KIND_EXPERIMENTAL_PROVIDER": client})
