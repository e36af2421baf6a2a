"""Decides whether the best candidate is the receipt's place."""

from collections.abc import Sequence

from .retrieval import Ranked

THRESHOLD = 0.6
"""Score from which the best candidate counts as a match; chosen with `evaluate` on the project's own noisy receipts."""

MARGIN = 0.02
"""How far it must be ahead of the next: branches of one chain tie when the receipt does not say which one it was."""


def decide(candidates: Sequence[Ranked], *, threshold: float = THRESHOLD, margin: float = MARGIN) -> Ranked | None:
    """The matching candidate, or None. `candidates` are sorted, best first."""
    if not candidates or candidates[0].score < threshold:
        return None
    if len(candidates) > 1 and candidates[0].score - candidates[1].score < margin:
        return None
    return candidates[0]
