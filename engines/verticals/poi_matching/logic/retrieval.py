"""Finds the places that a receipt may belong to: exact cosine search plus equal phones and business numbers, then ranked."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .features import Features, compare, score
from .records import Comparable, Place, comparable_place

NEIGHBOURS = 20
"""Places that the cosine search hands on to the ranking."""

Matrix = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True)
class Ranked:
    place: Place
    features: Features
    score: float


class PlaceIndex:
    """A few hundred to a few ten thousand places in memory: exact search over them takes less than any index library's call."""

    def __init__(self, places: Sequence[Place], vectors: Matrix) -> None:
        """`vectors`: one row a place, length 1, float32."""
        if vectors.ndim != 2 or len(vectors) != len(places):
            raise ValueError(f"{len(places)} places need as many vectors, got {list(vectors.shape)}")
        self._places = list(places)
        self._comparable = [comparable_place(place) for place in places]
        self._vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        self._by_number: dict[str, list[int]] = defaultdict(list)
        for row, place in enumerate(self._comparable):
            for number in (*place.phones, place.biznum):
                if number:
                    self._by_number[number].append(row)

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self._vectors.shape[1])

    def search(self, vector: Matrix, receipt: Comparable, *, limit: int) -> list[Ranked]:
        """The best places, best first, at most `limit`. `vector` is the embedding of `receipt.text`, length 1."""
        cosines = self._vectors @ np.asarray(vector, dtype=np.float32)
        count = min(NEIGHBOURS, len(self._places))
        rows = set(np.argpartition(-cosines, count - 1)[:count].tolist())
        for number in (*receipt.phones, receipt.biznum):
            rows.update(self._by_number.get(number, ()))
        ranked = []
        for row in rows:
            features = compare(receipt, self._comparable[row], cosine=float(cosines[row]))
            ranked.append(Ranked(self._places[row], features, score(features)))
        return sorted(ranked, key=lambda one: (-one.score, one.place.place_id))[:limit]
