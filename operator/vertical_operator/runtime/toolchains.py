"""The matrix of this installation: what is built in, and what a file (a ConfigMap of the chart) adds."""

from pathlib import Path

import yaml

from vertical_engines.contract.additions import BadToolchains, extended
from vertical_engines.contract.toolchains import Matrix, matrix


def read_toolchains(path: Path | str | None) -> Matrix:
    """Read a file of additions, JSON or YAML; None or an empty file: what is built in. Raises BadToolchains."""
    if not path:
        return matrix()
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadToolchains(f"{path}: {error.strerror}") from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise BadToolchains(f"{path}: neither JSON nor YAML: {' '.join(str(error).split())}") from None
    if not content:
        return matrix()
    try:
        return extended(content)
    except BadToolchains as error:
        raise BadToolchains("\n".join(f"{path}: {line}" for line in str(error).splitlines())) from None
