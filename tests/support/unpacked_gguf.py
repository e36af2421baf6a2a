"""The demo's GGUF file unpacked into a checkpoint in Hugging Face's layout: the way back of what the builder does."""

import json
from pathlib import Path
from typing import Any

import gguf
import numpy
from safetensors.numpy import save_file

NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
NUMBERS = {
    "num_hidden_layers": "block_count",
    "hidden_size": "embedding_length",
    "intermediate_size": "feed_forward_length",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "rope_theta": "rope.freq_base",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
    "max_position_embeddings": "context_length",
    "vocab_size": "vocab_size",
}


def unpack(source: Path, folder: Path) -> None:
    """config.json, model.safetensors in float32, tokenizer.json and tokenizer_config.json."""
    folder.mkdir()
    reader = gguf.GGUFReader(source)
    config: dict[str, Any] = {name: reader.fields[f"llama.{key}"].contents() for name, key in NUMBERS.items()}
    config |= {"architectures": ["LlamaForCausalLM"], "hidden_act": "silu", "tie_word_embeddings": True}
    (folder / "config.json").write_text(json.dumps(config))
    heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}
    save_file(dict(_tensor(tensor, heads) for tensor in reader.tensors), folder / "model.safetensors")
    (folder / "tokenizer.json").write_text(json.dumps(_tokenizer(reader)))
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    special = {f"{name}_token": tokens[reader.fields[f"tokenizer.ggml.{key}_token_id"].contents()] for name, key in _special()}
    settings = special | {"chat_template": reader.fields["tokenizer.chat_template"].contents()}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


def _special() -> tuple[tuple[str, str], ...]:
    return (("bos", "bos"), ("eos", "eos"), ("unk", "unknown"), ("pad", "padding"))


def _tensor(tensor: Any, heads: dict[str, int]) -> tuple[str, Any]:
    values = gguf.dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32)
    first, *rest = tensor.name.removesuffix(".weight").split(".")
    if not rest:
        return f"{NAMES[first]}.weight", numpy.ascontiguousarray(values)
    layer, part = rest
    if part in heads:
        rows, columns = values.shape
        values = values.reshape(heads[part], rows // heads[part] // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)
    return f"model.layers.{layer}.{NAMES[part]}.weight", numpy.ascontiguousarray(values)


def _tokenizer(reader: Any) -> dict[str, Any]:
    tokens, types = (reader.fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "token_type"))
    control = [number for number, kind in enumerate(types) if kind == 3]
    levels = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "added_tokens": [
            {
                "id": number,
                "content": tokens[number],
                "special": True,
                **dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False),
            }
            for number in control
        ],
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, levels]},
        "decoder": levels,
        "model": {
            "type": "BPE",
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {text: number for number, text in enumerate(tokens)},
            "merges": reader.fields["tokenizer.ggml.merges"].contents(),
        },
    }
