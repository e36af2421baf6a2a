"""The machine's pip settings that a build needs as well: certificates of a company's proxy, an index mirror. Nothing else."""

import ast
import os
import sys
from pathlib import Path

from tests.cluster.shell import output

CERTIFICATES = "/run/host-certificates.crt"
"""Where a build finds the machine's certificates."""

_CARRIED = ("index-url", "extra-index-url", "trusted-host", "proxy", "timeout")


def pip_settings() -> tuple[str, Path | None]:
    """Text of a pip.conf for builds, and the certificate bundle that it names at CERTIFICATES, if the machine names one."""
    listed = output([sys.executable, "-m", "pip", "config", "list"], timeout=60)
    found = parse_settings(listed)
    bundle = found.get("cert") or os.environ.get("PIP_CERT") or os.environ.get("SSL_CERT_FILE")
    path = Path(bundle) if bundle and Path(bundle).is_file() else None
    lines = ["[global]", "disable-pip-version-check = true", *(f"{key} = {found[key]}" for key in _CARRIED if key in found)]
    if path:
        lines.append(f"cert = {CERTIFICATES}")
    return "\n".join(lines) + "\n", path


def parse_settings(listed: str) -> dict[str, str]:
    """Option → value of `pip config list` lines such as `global.cert='/etc/ca.crt'` and `:env:.cert='…'` (the environment wins)."""
    found: dict[str, str] = {}
    for line in sorted(listed.splitlines(), key=lambda text: text.startswith(":env:")):
        name, separator, value = line.partition("=")
        if separator:
            found[name.rpartition(".")[2]] = str(ast.literal_eval(value))
    return found
