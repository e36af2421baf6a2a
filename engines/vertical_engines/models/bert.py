"""A BERT sentence encoder from safetensors to OpenVINO IR, pooled and normalised: openvino's operators and numpy, no framework."""

import json
from pathlib import Path
from typing import Any

import numpy
import openvino
from openvino import opset13 as op
from safetensors.numpy import load_file
from tokenizers import Tokenizer

IR_NAME = "openvino_model.xml"
TOKENIZER_NAME = "tokenizer.json"
LARGEST_NEGATIVE = numpy.finfo(numpy.float16).min
"""Fits both weight formats: a padded position gets no attention."""


def build_encoder(source: Path, target: Path, *, half: bool = True) -> None:
    """Write `openvino_model.xml`, `.bin` and `tokenizer.json` into `target`.

    `source` is a sentence-transformers folder: config.json, model.safetensors, tokenizer.json and, for the longest
    text, sentence_bert_config.json. The model takes input_ids and attention_mask (int64 [texts, tokens]) and gives
    embedding (float32 [texts, hidden size], rows of length 1). With `half` the weights are stored as float16.
    Raises ValueError for another architecture than BERT.
    """
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    _check(config)
    weights = {name.removeprefix("bert."): array.astype(numpy.float32) for name, array in load_file(source / "model.safetensors").items()}
    target.mkdir(parents=True, exist_ok=True)
    openvino.save_model(_Encoder(config, weights).model(), target / IR_NAME, compress_to_fp16=half)
    _tokenizer(source, longest=config["max_position_embeddings"]).save(str(target / TOKENIZER_NAME))


def _check(config: dict[str, Any]) -> None:
    wanted = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
    for name, value in wanted.items():
        if (found := config.get(name, value)) != value:
            raise ValueError(f"config.json has {name} {found!r}, this encoder is made for {value!r}")


def _tokenizer(source: Path, *, longest: int) -> Any:
    """Truncation and padding are saved with it, so that whoever loads it needs no further settings."""
    sentence = source / "sentence_bert_config.json"
    if sentence.is_file():
        longest = min(longest, json.loads(sentence.read_text(encoding="utf-8")).get("max_seq_length") or longest)
    tokenizer = Tokenizer.from_file(str(source / TOKENIZER_NAME))
    tokenizer.enable_truncation(longest)
    tokenizer.enable_padding()
    return tokenizer


class _Encoder:
    """The graph. Hidden states are [texts, tokens, hidden size] throughout."""

    def __init__(self, config: dict[str, Any], weights: dict[str, Any]) -> None:
        self._layers = config["num_hidden_layers"]
        self._heads = config["num_attention_heads"]
        self._width = config["hidden_size"] // config["num_attention_heads"]
        self._epsilon = config["layer_norm_eps"]
        self._weights = weights

    def model(self) -> Any:
        tokens = op.parameter([-1, -1], numpy.int64, name="input_ids")
        mask = op.parameter([-1, -1], numpy.int64, name="attention_mask")
        present = op.convert(mask, "f32")
        bias = op.multiply(op.unsqueeze(op.subtract(numpy.float32(1), present), [1, 2]), numpy.float32(LARGEST_NEGATIVE))
        hidden = self._embed(tokens)
        for layer in range(self._layers):
            hidden = self._layer(hidden, bias, name=f"encoder.layer.{layer}")
        result = _pool(hidden, present)
        for port, name in ((tokens.output(0), "input_ids"), (mask.output(0), "attention_mask"), (result.output(0), "embedding")):
            port.get_tensor().set_names({name})
        return openvino.Model([op.result(result)], [tokens, mask], "sentence_encoder")

    def _embed(self, tokens: Any) -> Any:
        words = op.gather(self._constant("embeddings.word_embeddings.weight"), tokens, 0)
        length = op.squeeze(op.gather(op.shape_of(tokens), numpy.array([1]), 0), [0])
        positions = op.gather(
            self._constant("embeddings.position_embeddings.weight"), op.range(numpy.int64(0), length, numpy.int64(1), output_type="i64"), 0
        )
        # one text at a time, so every token is of type 0
        types = op.constant(self._weights["embeddings.token_type_embeddings.weight"][0])
        return self._normalise(op.add(op.add(words, positions), types), "embeddings.LayerNorm")

    def _layer(self, hidden: Any, bias: Any, *, name: str) -> Any:
        query, key, value = (self._split(self._dense(hidden, f"{name}.attention.self.{part}")) for part in ("query", "key", "value"))
        attended = op.transpose(op.scaled_dot_product_attention(query, key, value, bias), [0, 2, 1, 3])
        merged = op.reshape(attended, [0, 0, self._heads * self._width], special_zero=True)
        hidden = self._normalise(
            op.add(hidden, self._dense(merged, f"{name}.attention.output.dense")), f"{name}.attention.output.LayerNorm"
        )
        inner = op.gelu(self._dense(hidden, f"{name}.intermediate.dense"), "erf")
        return self._normalise(op.add(hidden, self._dense(inner, f"{name}.output.dense")), f"{name}.output.LayerNorm")

    def _split(self, hidden: Any) -> Any:
        """[texts, heads, tokens, width]."""
        return op.transpose(op.reshape(hidden, [0, 0, self._heads, self._width], special_zero=True), [0, 2, 1, 3])

    def _dense(self, hidden: Any, name: str) -> Any:
        product = op.matmul(hidden, self._constant(f"{name}.weight"), transpose_a=False, transpose_b=True)
        return op.add(product, self._constant(f"{name}.bias"))

    def _normalise(self, hidden: Any, name: str) -> Any:
        standard = op.mvn(hidden, [-1], normalize_variance=True, eps=self._epsilon, eps_mode="INSIDE_SQRT")
        return op.add(op.multiply(standard, self._constant(f"{name}.weight")), self._constant(f"{name}.bias"))

    def _constant(self, name: str) -> Any:
        return op.constant(self._weights[name])


def _pool(hidden: Any, present: Any) -> Any:
    """Mean over the tokens that are there, brought to length 1."""
    weights = op.unsqueeze(present, [2])
    total = op.reduce_sum(op.multiply(hidden, weights), [1])
    mean = op.divide(total, op.maximum(op.reduce_sum(weights, [1]), numpy.float32(1)))
    return op.normalize_l2(mean, [1], 1e-12, "max")
