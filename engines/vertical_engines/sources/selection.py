"""Which files of a repository are the model: one format of weights, nothing that no builder reads."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.sources.protocol import RemoteFile

NOT_A_MODEL = (".gitattributes", ".gitignore", "*.md", "*.png", "*.jpg", "*.jpeg", "*.gif", "*.svg", "*.pdf", "*.ipynb", "*.zip")
OTHER_WEIGHTS = (
    "*.bin",
    "*.pt",
    "*.pth",
    "*.ckpt",
    "*.h5",
    "*.msgpack",
    "*.ot",
    "*.onnx",
    "*.onnx_data",
    "*.tflite",
    "*.gguf",
    "*.mlmodel",
)
"""Left out beside safetensors: many repositories hold the same weights two or three times."""
MOST_NAMES = 20


def choose(files: Iterable[RemoteFile], *, folder: str | None, patterns: Sequence[str] | None, where: str) -> tuple[RemoteFile, ...]:
    """The files below a folder, with paths relative to it. Raises ModelNotFound naming what is there, ModelInvalid for unsafe names.

    Patterns (`*.safetensors`, `config.json`) are matched against the relative path, and given ones are all that counts.
    """
    everything = list(files)
    prefix = f"{folder.strip('/')}/" if folder else ""
    below = [replace(file, path=file.path.removeprefix(prefix)) for file in everything if file.path.startswith(prefix)]
    if patterns:
        chosen = [file for file in below if _matches(file.path, patterns)]
    else:
        chosen = [file for file in below if not _matches(PurePosixPath(file.path).name, NOT_A_MODEL)]
        if any(file.path.endswith(".safetensors") and "/" not in file.path for file in chosen):
            # Folders beside the model hold it in other formats.
            chosen = [file for file in chosen if "/" not in file.path and not _matches(file.path, OTHER_WEIGHTS)]
    if not chosen:
        names = sorted(file.path for file in everything)
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        wanted = f"no file that matches {', '.join(patterns)}" if patterns else "no model file"
        place = f" in {folder}" if folder else ""
        raise Failure(Reason.MODEL_NOT_FOUND, f"{where}: {wanted}{place}; there is {', '.join(names[:MOST_NAMES]) or 'nothing'}{more}")
    for file in chosen:
        if not _is_safe(file.path):
            raise Failure(Reason.MODEL_INVALID, f"{where}: {file.path!r} is no name that can be stored")
    return tuple(sorted(chosen, key=lambda file: file.path))


def _matches(path: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def _is_safe(path: str) -> bool:
    """A relative path that stays below its folder."""
    parts = PurePosixPath(path).parts
    return bool(parts) and not path.startswith("/") and ".." not in parts and "\0" not in path and "\\" not in path
