"""Where a vertical answers: URLs of four schemes, and the name of a variant's Service inside the cluster."""

from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from vertical_engines.contract.serving import GRPC_PORT, HTTP_PORT

Protocol = Literal["http", "grpc"]

_SCHEMES: dict[str, tuple[Protocol, bool, int]] = {
    "http": ("http", False, 80),
    "https": ("http", True, 443),
    "grpc": ("grpc", False, GRPC_PORT),
    "grpcs": ("grpc", True, 443),
}


@dataclass(frozen=True)
class Address:
    """`netloc` is host:port with the path prefix, if any, as tritonclient wants it."""

    protocol: Protocol
    netloc: str
    tls: bool

    @classmethod
    def parse(cls, url: str) -> "Address":
        """`http[s]://host[:port][/prefix]` or `grpc[s]://host[:port]`. Raises ValueError that says what is wrong."""
        parts = urlsplit(url)
        if parts.scheme not in _SCHEMES or not parts.hostname:
            raise ValueError(f"{url!r} is no address of a server; use one like http://host:8000 or grpc://host:8001")
        protocol, tls, default_port = _SCHEMES[parts.scheme]
        prefix = parts.path.rstrip("/")
        if parts.username or parts.query or parts.fragment or (prefix and protocol == "grpc"):
            raise ValueError(f"{url!r}: only scheme, host, port and, with http, a path prefix can be given")
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        return cls(protocol=protocol, netloc=f"{host}:{parts.port or default_port}{prefix}", tls=tls)


def service_url(service: str, *, variant: str, namespace: str = "default", protocol: Protocol = "http") -> str:
    """URL of one variant of a VerticalService, for callers inside the cluster."""
    port = HTTP_PORT if protocol == "http" else GRPC_PORT
    return f"{protocol}://{service}-{variant}.{namespace}.svc:{port}"
