"""Copy folders out of a pipeline image: contents only, never out of the tree, never stale bytecode."""

import shutil
from pathlib import Path

from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure

LEFT_OUT = frozenset({"__pycache__", ".git"})
"""Bytecode is checked by second and size only, so that an old one could run in place of new code."""


def copy_tree(source: Path, target: Path, *, root: Path) -> None:
    """Copy a folder. Links inside `root` are replaced by what they point to; Failure PipelineInvalid for any other one."""
    target.mkdir(parents=True, exist_ok=True)
    for entry in sorted(source.iterdir()):
        if entry.name in LEFT_OUT:
            continue
        if entry.is_symlink():
            _check_link(entry, root=root)
        if entry.is_dir():
            copy_tree(entry, target / entry.name, root=root)
        elif entry.is_file():
            shutil.copyfile(entry, target / entry.name)
        else:
            raise _invalid(entry, root=root, what="is neither a file nor a folder")


def empty(folder: Path) -> None:
    """Remove everything in a folder, which may itself be a mount point: a restarted init container starts afresh."""
    folder.mkdir(parents=True, exist_ok=True)
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _check_link(link: Path, *, root: Path) -> None:
    try:
        aim = link.resolve(strict=True)
    except (OSError, RuntimeError):
        raise _invalid(link, root=root, what=f"is a link to {link.readlink()}, which does not exist") from None
    if not aim.is_relative_to(root.resolve()):
        raise _invalid(link, root=root, what=f"is a link to {link.readlink()}, outside of spec.pipeline.image.path")
    if link.parent.resolve().is_relative_to(aim):
        raise _invalid(link, root=root, what=f"is a link to {link.readlink()}, a folder that holds the link itself")


def _invalid(path: Path, *, root: Path, what: str) -> Failure:
    return Failure(Reason.PIPELINE_INVALID, f"{path.relative_to(root)} in the pipeline image {what}")
