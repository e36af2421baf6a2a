"""The index of places on disk: built with the encoder's own files when the image is made, checked against them at load."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .logic.records import Place, comparable_place
from .logic.retrieval import Matrix, PlaceIndex

PLACES_NAME = "places.jsonl"
VECTORS_NAME = "vectors.npy"
FACTS_NAME = "index.json"

ENCODER_FILES = ("*.xml", "*.bin", "tokenizer.json")
"""What decides an embedding: network, weights and tokenizer."""

BATCH = 32

Embed = Callable[[list[str]], Matrix]
"""Texts to rows of length 1, float32."""


class IndexMismatch(ValueError):
    """The index was made from other places or by another encoder than it is used with: its distances would mean nothing."""


def read_places(path: Path) -> list[Place]:
    """The places of a JSON lines file."""
    return [Place.model_validate_json(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def encoder_digest(folder: Path) -> str:
    """sha256 over the files under an encoder's model folder that decide its embeddings."""
    files = {path.relative_to(folder).as_posix(): path for pattern in ENCODER_FILES for path in folder.rglob(pattern)}
    if not files:
        raise IndexMismatch(f"no encoder files in {folder}")
    hashed = hashlib.sha256()
    for name, path in sorted(files.items()):
        hashed.update(f"{name} {_file_digest(path)}\n".encode())
    return hashed.hexdigest()


def _file_digest(path: Path) -> str:
    hashed = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            hashed.update(block)
    return hashed.hexdigest()


def build_index(places: Path, *, encoder: Path, embed: Embed, target: Path) -> None:
    """Write an index folder: the places as they are, their vectors, and digests of what made them."""
    listed = read_places(places)
    texts = [comparable_place(place).text for place in listed]
    vectors = np.concatenate([embed(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH)])
    target.mkdir(parents=True, exist_ok=True)
    (target / PLACES_NAME).write_bytes(places.read_bytes())
    np.save(target / VECTORS_NAME, vectors.astype(np.float32))
    facts = {"encoder": encoder_digest(encoder), "places": _file_digest(places), "vectors": _file_digest(target / VECTORS_NAME)}
    (target / FACTS_NAME).write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def load_index(folder: Path, *, encoder: Path) -> PlaceIndex:
    """Read an index folder. Raises IndexMismatch when a file or the encoder is not the one that it was made from."""
    facts = json.loads((folder / FACTS_NAME).read_text(encoding="utf-8"))
    found = {
        "encoder": encoder_digest(encoder),
        "places": _file_digest(folder / PLACES_NAME),
        "vectors": _file_digest(folder / VECTORS_NAME),
    }
    if changed := [part for part, digest in found.items() if facts.get(part) != digest]:
        raise IndexMismatch(f"the index in {folder} was made with other {', '.join(changed)}: build the pipeline image again")
    return PlaceIndex(read_places(folder / PLACES_NAME), np.load(folder / VECTORS_NAME))
