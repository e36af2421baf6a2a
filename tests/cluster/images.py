"""Brings the project's images into a cluster: built where files changed, loaded where the cluster lacks them."""

import json
from collections.abc import Sequence

from tests.cluster.cluster import Cluster
from tests.cluster.image_build import build
from tests.cluster.image_table import IMAGES, image
from tests.cluster.locations import state_folder
from tests.cluster.progress import step

ALL = tuple(row.reference for row in IMAGES)


def ensure_images(cluster: Cluster, references: Sequence[str] = ALL) -> set[str]:
    """After it the cluster has each image as the working tree describes it. Takes well under a second when it had them already.

    Returns the references that were loaded now: pods that run an older image of the same name need a restart.
    """
    record = state_folder(cluster.name) / "images"
    loaded: dict[str, str] = json.loads(record.read_text()) if record.exists() else {}
    fresh: set[str] = set()
    for row in (image(reference) for reference in references):
        archive = build(row)
        if loaded.get(row.reference) != archive.name:
            with step(f"Load image {row.reference} ({archive.stat().st_size >> 20} MiB)", usual=5):
                cluster.provider.load([archive])
            record.write_text(json.dumps(loaded := {**loaded, row.reference: archive.name}))
            fresh.add(row.reference)
    return fresh
