"""Settings of the process, from its environment; what the pure core needs of them is handed on as `core.settings`."""

import json
import os
import socket
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class BadSetting(ValueError):
    """A setting that can't be used; the message names its environment variable."""


class RuntimeSettings(BaseModel):
    """Everything that the chart can set. The name of a variable is OPERATOR_ and the field in capitals."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    namespace: str = "default"
    """Where the operator itself lives: its Lease is there."""
    pod: str = Field(default_factory=socket.gethostname)
    watch_namespaces: tuple[str, ...] = ()
    """Empty: the whole cluster."""
    image_registry: str = ""
    """Prefix put before toolchain images, for a mirror."""
    toolchain_images: dict[str, str] = Field(default_factory=dict)
    """`<backend>/<release>` to the image to use instead of the matrix's."""
    toolchains_file: str | None = None
    """Releases, flags and GPUs that the installation adds to the matrix: a file in the format of `toolchains.json`."""
    hub_endpoint: str = Field(default="", pattern=r"^(https?://[^\s@]+)?$")
    """Mirror of the Hugging Face hub; empty: the public one."""
    model_proxy: str = Field(default="", pattern=r"^(https?://[^\s@]+)?$")
    """HTTP proxy for fetching models; without name and password, since everybody who may read pods would see them."""
    model_no_proxy: str = ""
    offline: bool = False
    """No hub can be reached: sources of one must name a cache."""
    log_level: str = Field(default="INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$")
    http_host: str = "0.0.0.0"
    http_port: int = Field(default=8080, ge=0, le=65535)
    workers: int = Field(default=8, ge=1, le=64)
    resync_seconds: float = Field(default=600.0, ge=1.0)
    lease_name: str = "vertical-operator"
    kubeconfig: str | None = None
    """Out of the cluster only; None: the pod's own service account."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> "RuntimeSettings":
        """Read OPERATOR_* (lists comma-separated, maps as JSON). Raises BadSetting."""
        variables = os.environ if environment is None else environment
        values: dict[str, object] = {}
        for name, field in cls.model_fields.items():
            text = variables.get(f"OPERATOR_{name.upper()}", "").strip()
            if not text:
                continue
            if field.annotation == tuple[str, ...]:
                values[name] = tuple(part.strip() for part in text.split(",") if part.strip())
            elif field.annotation == dict[str, str]:
                values[name] = _mapping(name, text)
            else:
                values[name] = text
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            raise BadSetting(f"OPERATOR_{name.upper()}={variables.get(f'OPERATOR_{name.upper()}')!r}: {first['msg']}") from None


def _mapping(name: str, text: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadSetting(f"OPERATOR_{name.upper()}: not a JSON object: {error}") from None
