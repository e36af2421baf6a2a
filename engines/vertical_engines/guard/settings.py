"""What the guard is told: addresses, models and times."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Times in seconds, sizes in bytes. Triton is always on the loopback of the same pod."""

    entrypoint: str
    model: str
    """Triton name of the SLM: the canary's model when the entry point has no canary of its own."""
    canary: str | None
    """One KServe v2 request body for the entry point, `{nonce}` in it is replaced."""
    triton_http_port: int
    grpc_port: int
    metrics_port: int
    canary_interval: float = 5.0
    canary_timeout: float = 1.0
    retry_interval: float = 0.5
    dead_after: float = 60.0
    lame: float = 5.0
    quiet: float = 1.0
    drain_max: float = 40.0
    idle: float = 5.0
    """An HTTP connection without a request for so long may be cut at the end of the drain."""
    forgotten: float = 300.0
    """A connection that sent nothing for so long is closed at any time: their number is bounded."""
    body_limit: int = 3 * 1024 * 1024
    most_connections: int = 1024
