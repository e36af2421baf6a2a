"""Writes the GGUF file that openvino-genai makes its graph from: out of safetensors, or out of another GGUF file, in the wanted precision.

One road for every source: the reader of openvino-genai builds the graph, `gguf` (the package of llama.cpp) does the number formats.
"""

from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import gguf
import numpy

from vertical_engines.builders.openvino_checkpoint import Checkpoint, NotCheckpoint, StoredTensor, read_checkpoint
from vertical_engines.builders.openvino_vocabulary import vocabulary

Kind = gguf.GGMLQuantizationType
KINDS = {"float16": (Kind.F16, Kind.F16), "int8": (Kind.Q8_0, Kind.Q8_0), "int4": (Kind.Q4_1, Kind.Q8_0)}
"""Weights -> type of the matrices, type of embedding and output: both ends of a model suffer most from four bits."""
FILE_TYPES = {"float16": gguf.LlamaFileType.MOSTLY_F16, "int8": gguf.LlamaFileType.MOSTLY_Q8_0, "int4": gguf.LlamaFileType.MOSTLY_Q4_1}
ENDS = ("token_embd.weight", "output.weight")
ARRAY_ITEMS = {int: gguf.GGUFValueType.INT32, str: gguf.GGUFValueType.STRING}

Load = Callable[[], Any]
"""Gives one tensor as float32 [rows, columns] or [elements]."""


def repack(source: Path, target: Path, *, weights: str) -> None:
    """Write `target`. `source` is a GGUF file or the folder of a checkpoint. Raises NotCheckpoint when it can't be expressed."""
    if source.is_dir():
        checkpoint = read_checkpoint(source)
        writer = gguf.GGUFWriter(target, checkpoint.architecture)
        _describe(writer, checkpoint)
        _write(writer, list(_checkpoint_tensors(checkpoint)), weights=weights)
    else:
        reader = gguf.GGUFReader(source)
        writer = gguf.GGUFWriter(target, _text(reader, "general.architecture"))
        _copy_keys(writer, reader)
        tensors: list[tuple[str, tuple[int, ...], Load]] = [
            (tensor.name, tuple(int(size) for size in reversed(tensor.shape)), partial(_unpacked, tensor)) for tensor in reader.tensors
        ]
        _write(writer, tensors, weights=weights)


def _write(writer: Any, tensors: list[tuple[str, tuple[int, ...], Load]], *, weights: str) -> None:
    """Tensor by tensor: no more than one is in memory."""
    writer.add_file_type(FILE_TYPES[weights])
    kinds = {name: _kind(name, shape, weights=weights) for name, shape, _ in tensors}
    for name, shape, _ in tensors:
        block, octets = gguf.GGML_QUANT_SIZES[kinds[name]]
        # The number type is only read when raw_dtype is missing.
        writer.add_tensor_info(name, shape, numpy.dtype(numpy.float32), prod(shape) // block * octets, raw_dtype=kinds[name])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for name, _, load in tensors:
        writer.write_tensor_data(_packed(load(), kinds[name], name=name))
    writer.close()


def _kind(name: str, shape: tuple[int, ...], *, weights: str) -> Any:
    """Vectors stay float32: they are few, and norms and biases need it."""
    if len(shape) == 1:
        return Kind.F32
    inner, ends = KINDS[weights]
    kind = ends if name in ENDS else inner
    if kind is not Kind.F16 and shape[-1] % gguf.GGML_QUANT_SIZES[kind][0]:
        raise NotCheckpoint(f"{name} has rows of {shape[-1]} values, {weights} needs a multiple of {gguf.GGML_QUANT_SIZES[kind][0]}")
    return kind


def _packed(values: Any, kind: Any, *, name: str) -> Any:
    if kind is Kind.F32:
        return numpy.ascontiguousarray(values, dtype=numpy.float32)
    if kind is not Kind.F16:
        return gguf.quantize(values, kind)
    with numpy.errstate(over="ignore"):
        half = values.astype(numpy.float16)
    if not numpy.isfinite(half).all():
        raise NotCheckpoint(f"{name} has values that float16 can't hold (up to {numpy.abs(values).max():g})")
    return half


def _unpacked(tensor: Any) -> Any:
    return gguf.dequantize(tensor.data, tensor.tensor_type)


def _text(reader: Any, key: str) -> str:
    return str(reader.fields[key].contents())


def _copy_keys(writer: Any, reader: Any) -> None:
    for name, field in reader.fields.items():
        if not name.startswith("GGUF.") and name not in ("general.architecture", "general.file_type", "general.quantization_version"):
            writer.add_key_value(name, field.contents(), field.types[0], sub_type=field.types[-1] if len(field.types) > 1 else None)


def _describe(writer: Any, checkpoint: Checkpoint) -> None:
    """The keys of the architecture and of the tokenizer."""
    config = checkpoint.config
    heads = config["num_attention_heads"]
    width = config.get("head_dim") or config["hidden_size"] // heads
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(config.get("num_key_value_heads") or heads)
    writer.add_key_length(width)
    writer.add_value_length(width)
    writer.add_rope_dimension_count(width)
    writer.add_rope_freq_base(checkpoint.rope_base)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    for key, value in vocabulary(checkpoint.folder, size=config["vocab_size"]).items():
        if isinstance(value, list) and value:
            writer.add_key_value(key, value, gguf.GGUFValueType.ARRAY, sub_type=ARRAY_ITEMS[type(value[0])])
        elif not isinstance(value, list):
            kind = gguf.GGUFValueType.UINT32 if key.endswith("_token_id") else gguf.GGUFValueType.get_type(value)
            writer.add_key_value(key, value, kind)


def _checkpoint_tensors(checkpoint: Checkpoint) -> Iterator[tuple[str, tuple[int, ...], Load]]:
    """Under GGUF's names, in a fixed order. Rotary rows of Llama are interleaved there, as its authors had them."""
    config = checkpoint.config
    names = gguf.get_tensor_name_map(_architecture(checkpoint.architecture), config["num_hidden_layers"])
    heads = {"q_proj": config["num_attention_heads"], "k_proj": config.get("num_key_value_heads") or config["num_attention_heads"]}
    for name in sorted(checkpoint.tensors):
        if name == "lm_head.weight" and config.get("tie_word_embeddings"):
            continue
        if name.endswith("rotary_emb.inv_freq"):
            continue
        known = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if known is None:
            raise NotCheckpoint(f"{checkpoint.tensors[name].path.name} holds {name}, which an architecture of this kind does not have")
        rotary = next((count for part, count in heads.items() if f".{part}." in name), 0) if checkpoint.architecture == "llama" else 0
        yield known, checkpoint.tensors[name].shape, partial(_loaded, checkpoint.tensors[name], rotary=rotary)


def _architecture(name: str) -> Any:
    return next(number for number, text in gguf.MODEL_ARCH_NAMES.items() if text == name)


def _loaded(tensor: StoredTensor, *, rotary: int) -> Any:
    form = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}[tensor.dtype]
    stored = numpy.memmap(tensor.path, dtype=form, mode="r", offset=tensor.start, shape=tensor.shape)
    # numpy has no bfloat16: it is the upper half of a float32.
    values = (stored.astype(numpy.uint32) << 16).view(numpy.float32) if tensor.dtype == "BF16" else stored.astype(numpy.float32)
    if not rotary:
        return values
    rows = values.shape[0]
    return values.reshape(rotary, 2, rows // rotary // 2, *values.shape[1:]).swapaxes(1, 2).reshape(values.shape)
