"""Counts of an evaluation: how often the right place was found, ranked first and decided for, and how often a wrong one was."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from .decision import decide
from .retrieval import Ranked

RANKS = (1, 5, 20)


@dataclass
class Measures:
    """Filled one receipt at a time. `wanted` is None for a receipt of a place that is not in the list."""

    listed: int = 0
    unlisted: int = 0
    found: dict[int, int] = field(default_factory=lambda: dict.fromkeys(RANKS, 0))
    ranked_first: int = 0
    right: int = 0
    wrong: int = 0
    undecided: int = 0
    false_matches: int = 0

    def add(self, *, wanted: str | None, neighbours: Sequence[str], ranked: Sequence[Ranked]) -> None:
        """`neighbours`: place ids by cosine alone, nearest first; `ranked`: the candidates after ranking."""
        match = decide(ranked)
        if wanted is None:
            self.unlisted += 1
            self.false_matches += match is not None
            return
        self.listed += 1
        for rank in RANKS:
            self.found[rank] += wanted in neighbours[:rank]
        self.ranked_first += bool(ranked) and ranked[0].place.place_id == wanted
        if match is None:
            self.undecided += 1
        elif match.place.place_id == wanted:
            self.right += 1
        else:
            self.wrong += 1

    @property
    def precision(self) -> float:
        """Right matches over all matches."""
        matches = self.right + self.wrong + self.false_matches
        return self.right / matches if matches else 0.0

    @property
    def recall(self) -> float:
        """Right matches over all receipts of listed places."""
        return self.right / self.listed if self.listed else 0.0

    @property
    def f1(self) -> float:
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0
