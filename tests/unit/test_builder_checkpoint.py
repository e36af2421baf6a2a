"""Engines from safetensors against the same network in numpy; and checkpoints that are refused, with which words."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy
import openvino
import pytest
from tokenizers import Tokenizer

from tests.support.checkpoints import Reference, write_checkpoint
from tests.support.stand_in_builder import engine_request
from vertical_engines.builders.openvino import OpenVinoBuilder
from vertical_engines.builders.openvino_checkpoint import NotCheckpoint
from vertical_engines.builders.openvino_repack import repack
from vertical_engines.builders.openvino_source import IR_FILES, kind_of
from vertical_engines.contract.build import EXIT_USER_ERROR
from vertical_engines.contract.engine import EngineIdentity
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure

TEXT = "the lazy fox, 12.50 they're"


def identity(weights: str = "source", *, max_seq_len: int = 100) -> EngineIdentity:
    found = engine_request().identity
    return found.model_copy(update={"weights": weights, "build": found.build.model_copy(update={"max_seq_len": max_seq_len})})


def build(model: Path, folder: Path, *, weights: str = "source") -> list[str]:
    """Lines of progress."""
    lines: list[str] = []
    builder, wanted = OpenVinoBuilder(), identity(weights)
    folder.mkdir()
    source = builder.check(wanted, model=model)
    assert kind_of(source) == "checkpoint"
    builder.convert(source, identity=wanted, folder=folder, say=lines.append)
    return lines


def logits(folder: Path, ids: list[int]) -> Any:
    """[tokens, vocabulary] of the built graph, computed in float32."""
    compiled = openvino.Core().compile_model(
        folder / "openvino_model.xml", "CPU", {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32"}
    )
    given = {
        "input_ids": numpy.array([ids]),
        "attention_mask": numpy.ones((1, len(ids)), dtype=numpy.int64),
        "position_ids": numpy.arange(len(ids))[None],
        "beam_idx": numpy.zeros(1, dtype=numpy.int32),
    }
    return compiled.create_infer_request().infer(given)["logits"][0]


@pytest.mark.parametrize("architecture", ["llama", "qwen2", "qwen3"])
def test_the_graph_computes_what_the_checkpoint_says(tmp_path: Path, architecture: str) -> None:
    model, folder = tmp_path / "model", tmp_path / "engine"
    tensors = write_checkpoint(model, architecture, shards=2 if architecture == "qwen2" else 1)
    build(model, folder)
    assert {path.name for path in folder.iterdir()} == set(IR_FILES)
    ids = Tokenizer.from_file(str(model / "tokenizer.json")).encode(TEXT).ids
    expected = Reference(model, tensors).logits(ids)
    numpy.testing.assert_allclose(logits(folder, ids), expected, atol=2e-3 * numpy.abs(expected).max())


def test_far_tokens_turn_as_they_should(tmp_path: Path) -> None:
    """Frequencies in float16, as openvino-genai saves them, would be off by half a radian after two thousand tokens."""
    model, folder = tmp_path / "model", tmp_path / "engine"
    tensors = write_checkpoint(model, "llama", context=4096)
    build(model, folder)
    ids = [number % 97 for number in range(2000)]
    expected = Reference(model, tensors).logits(ids)[-1]
    numpy.testing.assert_allclose(logits(folder, ids)[-1], expected, atol=2e-3 * numpy.abs(expected).max())


@pytest.mark.parametrize(("weights", "least", "most"), [("int8", 0.0001, 0.03), ("int4", 0.005, 0.35)])
def test_quantised_weights_are_near_and_smaller(tmp_path: Path, weights: str, least: float, most: float) -> None:
    """Bounds on the relative error of the logits of random weights: from above, and from below, so that it is quantised at all."""
    model, folder = tmp_path / "model", tmp_path / "engine"
    tensors = write_checkpoint(model, "llama")
    build(model, folder, weights=weights)
    ids = Tokenizer.from_file(str(model / "tokenizer.json")).encode(TEXT).ids
    expected = Reference(model, tensors).logits(ids)
    error = numpy.linalg.norm(logits(folder, ids) - expected) / numpy.linalg.norm(expected)
    assert least < error < most
    elements = sum(values.size for values in tensors.values())
    assert (folder / "openvino_model.bin").stat().st_size < 1.5 * elements


def test_bfloat16_is_stored_as_float16_without_loss(tmp_path: Path) -> None:
    model, folder = tmp_path / "model", tmp_path / "engine"
    tensors = write_checkpoint(model, "llama", dtype=ml_dtypes.bfloat16)
    assert "writing the weights as float16" in build(model, folder)
    ids = Tokenizer.from_file(str(model / "tokenizer.json")).encode(TEXT).ids
    expected = Reference(model, tensors).logits(ids)
    numpy.testing.assert_allclose(logits(folder, ids), expected, atol=2e-3 * numpy.abs(expected).max())


def config(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


def cut(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-10])


def unigram(folder: Path) -> None:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"model": {"type": "Unigram", "vocab": []}}))


REFUSED = {
    "another architecture": (config(architectures=["PhiForCausalLM"]), "architecture PhiForCausalLM; LlamaForCausalLM, Qwen2ForCausalLM"),
    "scaled rope": (config(rope_scaling={"rope_type": "llama3", "factor": 8.0}), "rope_scaling of type llama3"),
    "scaled rope, new spelling": (config(rope_parameters={"rope_type": "yarn", "rope_theta": 1e6}), "rope_scaling of type yarn"),
    "quantised": (config(quantization_config={"quant_method": "gptq"}), "take the unquantised checkpoint"),
    "sliding window": (config(use_sliding_window=True), "a sliding window"),
    "another activation": (config(hidden_act="gelu"), "activation gelu"),
    "biases": (config(attention_bias=True), "biases in its attention"),
    "cut off": (cut, "model.safetensors is cut off: its header describes"),
    "no safetensors": (lambda folder: (folder / "model.safetensors").write_bytes(b"x"), "is no safetensors file"),
    "no tokenizer": (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer.json is missing"),
    "no config": (lambda folder: (folder / "config.json").unlink(), "config.json is missing"),
    "config that is no object": (lambda folder: (folder / "config.json").write_text("[]"), "config.json is not a JSON object"),
}


@pytest.mark.parametrize(("spoil", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_a_checkpoint_that_would_answer_wrongly_is_refused_at_once(tmp_path: Path, spoil: Callable[[Path], None], words: str) -> None:
    write_checkpoint(tmp_path, "llama")
    spoil(tmp_path)
    with pytest.raises(Failure, match=words) as refused:
        OpenVinoBuilder().check(identity(), model=tmp_path)
    assert refused.value.reason is Reason.MODEL_INVALID
    assert refused.value.exit_code == EXIT_USER_ERROR


def test_a_longer_sequence_than_the_model_knows_is_refused(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, "llama")
    assert OpenVinoBuilder().check(identity(max_seq_len=128), model=tmp_path)
    with pytest.raises(Failure, match="the model was made for 128"):
        OpenVinoBuilder().check(identity(max_seq_len=129), model=tmp_path)


def test_a_tokenizer_of_another_kind_is_refused(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "model", "llama")
    unigram(tmp_path / "model")
    with pytest.raises(NotCheckpoint, match="no byte-level BPE"):
        repack(tmp_path / "model", tmp_path / "model.gguf", weights="float16")


def test_a_tensor_that_the_architecture_does_not_have_is_refused(tmp_path: Path) -> None:
    """Left out, the model would answer, and wrongly."""
    write_checkpoint(tmp_path / "model", "qwen2")
    config(architectures=["LlamaForCausalLM"])(tmp_path / "model")
    from safetensors.numpy import load_file, save_file

    path = tmp_path / "model" / "model.safetensors"
    save_file(load_file(path) | {"model.layers.0.extra.weight": numpy.zeros((2, 2), dtype=numpy.float32)}, path)
    with pytest.raises(NotCheckpoint, match=r"model\.layers\.0\.extra\.weight, which an architecture of this kind does not have"):
        repack(tmp_path / "model", tmp_path / "model.gguf", weights="float16")


def test_values_beyond_float16_are_refused_and_the_way_is_the_native_program(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    model = tmp_path / "model"
    write_checkpoint(model, "llama")
    tensors = load_file(model / "model.safetensors")
    tensors["model.layers.1.mlp.up_proj.weight"][0, 0] = 1e6
    save_file(tensors, model / "model.safetensors")
    with pytest.raises(
        Failure, match=r"model\.safetensors can't be built: blk\.1\.ffn_up\.weight has values that float16 can't hold"
    ) as refused:
        build(model, tmp_path / "engine")
    assert refused.value.reason is Reason.MODEL_INVALID
    assert refused.value.exit_code == EXIT_USER_ERROR


def test_a_tokenizer_that_comes_out_differently_is_noticed(tmp_path: Path) -> None:
    """Three digits together: GGUF's word for such a splitting means another one to this runtime."""
    model = tmp_path / "model"
    write_checkpoint(model, "llama")
    content = json.loads((model / "tokenizer.json").read_text())
    content["pre_tokenizer"]["pretokenizers"].pop(0)
    content["normalizer"] = {"type": "Lowercase"}
    (model / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(Failure, match=r"its tokenizer can't be rebuilt: .* instead of"):
        build(model, tmp_path / "engine")
