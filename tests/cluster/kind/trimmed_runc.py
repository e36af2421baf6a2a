"""Stands in front of runc where a machine lacks CAP_SYS_RESOURCE: asks for no capability and no oom score that can't be granted.

Runs as a file of its own, by the interpreter that started the engine: `trimmed_runc.py RUNC ARGUMENTS...`. Nothing of the
project is imported.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

CAPABILITY = "CAP_SYS_RESOURCE"


def trimmed(process: dict[str, Any], *, lowest_oom_score: int) -> dict[str, Any]:
    """The `process` part of an OCI bundle without the capability, and with an oom score that we may set."""
    capabilities = {kind: [name for name in names if name != CAPABILITY] for kind, names in (process.get("capabilities") or {}).items()}
    score = max(process.get("oomScoreAdj", lowest_oom_score), lowest_oom_score)
    return {**process, "capabilities": capabilities, "oomScoreAdj": score}


def option(arguments: list[str], name: str) -> str | None:
    """Value of `--name value` or `--name=value`."""
    for index, word in enumerate(arguments):
        if word == name and index + 1 < len(arguments):
            return arguments[index + 1]
        if word.startswith(f"{name}="):
            return word.removeprefix(f"{name}=")
    return None


def main(runc: str, arguments: list[str]) -> None:
    lowest = int(Path("/proc/self/oom_score_adj").read_text())
    if bundle := option(arguments, "--bundle"):
        path = Path(bundle) / "config.json"
        config = json.loads(path.read_text())
        path.write_text(json.dumps({**config, "process": trimmed(config["process"], lowest_oom_score=lowest)}))
    elif process := option(arguments, "--process"):
        path = Path(process)
        path.write_text(json.dumps(trimmed(json.loads(path.read_text()), lowest_oom_score=lowest)))
    os.execv(runc, ["runc", *arguments])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
