"""Makes encoder and index while the pipeline image is built: `python -m poi_matching.make_index --weights DIR --models DIR`."""

import argparse
from pathlib import Path

from vertical_engines.models.bert import build_encoder
from vertical_engines.models.sentence_encoder import SentenceEncoder

from .index import build_index

PLACES = Path(__file__).parent / "data" / "places.jsonl"


def make_index(*, weights: Path, models: Path, places: Path = PLACES) -> None:
    """Fill the model folders under `models`: encoder/1 from the BERT weights, poi_matching_bls/1/index from the places.

    The very files that serve later make the vectors, so that both agree to the last bit.
    """
    build_encoder(weights, models / "encoder" / "1")
    encoder = SentenceEncoder(models / "encoder" / "1")
    build_index(places, encoder=models / "encoder", embed=encoder.encode, target=models / "poi_matching_bls" / "1" / "index")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path, required=True, help="folder of a sentence-transformers BERT")
    parser.add_argument("--models", type=Path, required=True, help="folder of the model folders")
    parser.add_argument("--places", type=Path, default=PLACES, help="JSON lines file of places")
    make_index(**vars(parser.parse_args()))
