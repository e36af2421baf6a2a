"""How alike two normalised texts are: robust against typos (trigrams) and against missing or swapped words (word sets)."""

from collections import Counter


def trigrams(text: str) -> Counter[str]:
    """Three-letter windows of the text with a space on both ends."""
    padded = f" {text} "
    return Counter(padded[start : start + 3] for start in range(len(padded) - 2))


def trigram_similarity(one: str, other: str) -> float:
    """Dice coefficient of the trigrams, 0 to 1."""
    left, right = trigrams(one), trigrams(other)
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else 0.0


def word_overlap(one: str, other: str) -> float:
    """Shared words over the words of the shorter text, 0 to 1: a truncated text still agrees with the whole one."""
    left, right = set(one.split()), set(other.split())
    shorter = min(len(left), len(right))
    return len(left & right) / shorter if shorter else 0.0


def similarity(one: str, other: str) -> float | None:
    """Mean of both views, 0 to 1; None when one text is empty, for then there is nothing to compare."""
    if not one or not other:
        return None
    return (trigram_similarity(one, other) + word_overlap(one, other)) / 2
