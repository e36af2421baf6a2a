"""An engine as an OCI artefact: one uncompressed layer per file, named by path, and the engine's manifest as the config."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from vertical_engines.contract.manifest import MANIFEST_NAME, EngineFile, Manifest
from vertical_engines.store.failures import EngineCorrupt

ARTIFACT_TYPE = "application/vnd.vertical-operator.engine.v1"
CONFIG_TYPE = "application/vnd.vertical-operator.engine.manifest.v1+json"
LAYER_TYPE = "application/vnd.vertical-operator.engine.file.v1"
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
TITLE = "org.opencontainers.image.title"


def descriptor(media_type: str, *, sha256: str, size: int, title: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {"mediaType": media_type, "digest": f"sha256:{sha256}", "size": size}
    return found | ({"annotations": {TITLE: title}} if title else {})


def artifact(manifest: Manifest, *, config: dict[str, Any]) -> dict[str, Any]:
    """The OCI manifest. Files are layers as they are: their digests are those of the engine's own manifest."""
    return {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "artifactType": ARTIFACT_TYPE,
        "config": config,
        "layers": [descriptor(LAYER_TYPE, sha256=file.sha256, size=file.size, title=file.path) for file in manifest.files],
        "annotations": {
            "org.opencontainers.image.created": manifest.built_at,
            "vertical-operator.io/engine-key": manifest.key,
            "vertical-operator.io/toolchain": f"{manifest.identity.toolchain.backend} {manifest.identity.toolchain.release}",
        },
    }


def check_layers(document: dict[str, Any], files: Sequence[EngineFile], *, where: str) -> None:
    """Raises EngineCorrupt when an artefact does not hold exactly the files of its engine's manifest, or one that leaves its folder."""
    layers = document.get("layers")
    found = [
        (layer.get("annotations", {}).get(TITLE), layer.get("digest"), layer.get("size"))
        for layer in layers or ()
        if isinstance(layer, dict)
    ]
    if sorted(map(str, found)) != sorted(str((file.path, f"sha256:{file.sha256}", file.size)) for file in files):
        raise EngineCorrupt(f"{where} does not hold the files that its manifest names: it was not pushed by a build")
    for file in files:
        path = PurePosixPath(file.path)
        if path.is_absolute() or ".." in path.parts or path.as_posix() == MANIFEST_NAME:
            raise EngineCorrupt(f"{where} holds a file of the name {file.path!r}")
