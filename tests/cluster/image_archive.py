"""Writes image archives without any daemon: one layer made of a folder, in the form that `docker load` and containerd read."""

import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def write_image(
    reference: str, folder: Path, archive: Path, *, entrypoint: Sequence[str] = (), command: Sequence[str] = (), keep_owners: bool = False
) -> None:
    """Make `archive` an image called `reference` with the content of `folder`.

    Every file belongs to root unless `keep_owners`. The file appears in one step, so a cut-off run leaves nothing half-written.
    """

    def owned(info: tarfile.TarInfo) -> tarfile.TarInfo:
        if info.name == ".":
            info.mode = 0o755  # a temporary folder is closed to others, the root of an image must not be
        if not keep_owners:
            info.uid = info.gid = 0
            info.uname = info.gname = "root"
        return info

    partial = archive.with_suffix(".partial")
    with tempfile.TemporaryFile(dir=archive.parent) as layer:
        with tarfile.open(fileobj=layer, mode="w") as tar:
            tar.add(folder, arcname=".", filter=owned)
        size = layer.tell()
        layer.seek(0)
        digest = hashlib.file_digest(layer, "sha256").hexdigest()
        layer.seek(0)
        config = {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Entrypoint": list(entrypoint) or None, "Cmd": list(command) or None, "Env": [_PATH]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
            "history": [{"created_by": f"files of {reference}"}],  # builders that cache layers count them against it
        }
        manifest = [{"Config": "config.json", "RepoTags": [reference], "Layers": ["layer.tar"]}]
        with tarfile.open(partial, "w") as out:
            for name, value in (("manifest.json", manifest), ("config.json", config)):
                data = json.dumps(value).encode()
                info = tarfile.TarInfo(name)
                info.size = len(data)
                out.addfile(info, io.BytesIO(data))
            info = tarfile.TarInfo("layer.tar")
            info.size = size
            out.addfile(info, layer)
    partial.replace(archive)
