"""The matching with the real encoder keeps the quality that the page of this vertical states, and the image's layout loads."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vertical_engines.models.sentence_encoder import SentenceEncoder
from verticals.poi_matching import index
from verticals.poi_matching.evaluate import LEVELS, Evaluation, table, weights_folder
from verticals.poi_matching.logic.measures import Measures
from verticals.poi_matching.make_index import make_index

PACKAGE = Path(index.__file__).parent
RECEIPTS = 400


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Model folders as the image has them."""
    folder = tmp_path_factory.mktemp("models")
    shutil.copytree(PACKAGE / "models", folder, dirs_exist_ok=True)
    make_index(weights=weights_folder(), models=folder)
    return folder


@pytest.fixture(scope="module")
def results(models: Path) -> dict[str, Measures]:
    evaluation = Evaluation(SentenceEncoder(models / "encoder" / "1"))
    return {level: evaluation.run(noise=noise, receipts=RECEIPTS, seed=7) for level, noise in LEVELS.items()}


def test_usual_receipts_are_matched(results: dict[str, Measures]) -> None:
    usual = results["usual"]
    assert (usual.listed, usual.unlisted) == (RECEIPTS, RECEIPTS // 4)
    assert usual.f1 >= 0.96
    assert usual.precision >= 0.97
    assert usual.found[20] / usual.listed >= 0.97


def test_hard_receipts_stay_precise(results: dict[str, Measures]) -> None:
    assert results["hard"].precision >= 0.95
    assert results["hard"].recall >= 0.6


def test_ranking_adds_to_the_cosine(results: dict[str, Measures]) -> None:
    for level in results.values():
        assert level.ranked_first > level.found[1]


def test_every_receipt_is_counted_once(results: dict[str, Measures]) -> None:
    for level in results.values():
        assert level.right + level.wrong + level.undecided == level.listed


def test_the_table_has_a_column_for_each_level(results: dict[str, Measures]) -> None:
    shown = table(results)
    assert [column.header for column in shown.columns] == ["measure", *LEVELS]
    assert shown.row_count == 11


def test_the_index_holds_unit_vectors_of_the_encoder(models: Path) -> None:
    loaded = index.load_index(models / "poi_matching_bls" / "1" / "index", encoder=models / "encoder")
    assert loaded.dimensions == 384
    vectors = np.load(models / "poi_matching_bls" / "1" / "index" / index.VECTORS_NAME)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)


def test_the_model_file_finds_its_package_as_in_the_image(tmp_path: Path) -> None:
    """The image copies the package beside the models, under its own name and without its tests and tools."""
    skip = shutil.ignore_patterns("models", "tests", "data", "synthesis", "make_index.py", "evaluate.py", "__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "poi_matching", ignore=skip)
    program = "import runpy, sys; found = runpy.run_path(sys.argv[1])['TritonPythonModel']; print(found.__module__, found.public)"
    done = subprocess.run(
        [sys.executable, "-c", program, str(PACKAGE / "models" / "poi_matching_bls" / "1" / "model.py")],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "poi_matching.bls True"), done.stderr
