"""Small random checkpoints of the Llama family in Hugging Face's layout, and the same networks written out in numpy, in float64."""

import json
from pathlib import Path
from typing import Any

import numpy
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

CLASSES = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM"}
QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
TEXT = ["the quick brown fox jumps over the lazy dog", "receipt 2024: 3 x 12.50 = 37.50", "don't we all think that they're there"]


def config(architecture: str) -> dict[str, Any]:
    """Two layers; grouped attention; with qwen3 heads that are wider than hidden size by heads."""
    found: dict[str, Any] = {
        "architectures": [CLASSES[architecture]],
        "num_hidden_layers": 2,
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "max_position_embeddings": 128,
        "hidden_act": "silu",
        "tie_word_embeddings": architecture != "qwen2",
    }
    return found | ({"head_dim": 32} if architecture == "qwen3" else {})


def tokenizer(architecture: str) -> Tokenizer:
    """Byte-level BPE, split as the models of that family split."""
    made = Tokenizer(models.BPE())
    levels = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=architecture == "llama")
    first = (
        pre_tokenizers.Digits(individual_digits=True)
        if architecture == "llama"
        else pre_tokenizers.Split(pattern=_regex(QWEN), behavior="isolated")
    )
    made.pre_tokenizer = pre_tokenizers.Sequence([first, levels])
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    made.train_from_iterator(TEXT, trainer)
    made.add_special_tokens([AddedToken("<|end|>", special=True)])
    return made


def _regex(pattern: str) -> Any:
    from tokenizers import Regex

    return Regex(pattern)


def weights(architecture: str, settings: dict[str, Any], *, seed: int = 7) -> dict[str, Any]:
    """Every tensor of the checkpoint, float32, exact in float16."""
    random = numpy.random.default_rng(seed)
    hidden, inner = settings["hidden_size"], settings["intermediate_size"]
    width = settings.get("head_dim", hidden // settings["num_attention_heads"])
    query, cached = (settings[f"num_{kind}_heads"] * width for kind in ("attention", "key_value"))
    shapes = {"model.embed_tokens.weight": (settings["vocab_size"], hidden), "model.norm.weight": (hidden,)}
    for layer in range(settings["num_hidden_layers"]):
        block = f"model.layers.{layer}"
        shapes |= {f"{block}.{name}_layernorm.weight": (hidden,) for name in ("input", "post_attention")}
        shapes |= {f"{block}.self_attn.{name}_proj.weight": (size, hidden) for name, size in (("q", query), ("k", cached), ("v", cached))}
        shapes |= {f"{block}.self_attn.o_proj.weight": (hidden, query), f"{block}.mlp.down_proj.weight": (hidden, inner)}
        shapes |= {f"{block}.mlp.{name}_proj.weight": (inner, hidden) for name in ("gate", "up")}
        if architecture == "qwen2":
            shapes |= {f"{block}.self_attn.{name}_proj.bias": (size,) for name, size in (("q", query), ("k", cached), ("v", cached))}
        if architecture == "qwen3":
            shapes |= {f"{block}.self_attn.{name}_norm.weight": (width,) for name in ("q", "k")}
    if not settings["tie_word_embeddings"]:
        shapes["lm_head.weight"] = (settings["vocab_size"], hidden)
    return {
        name: ((1.0 if "norm" in name else 0.0) + random.normal(0, 0.15, shape)).astype(numpy.float16).astype(numpy.float32)
        for name, shape in shapes.items()
    }


def write_checkpoint(folder: Path, architecture: str, *, shards: int = 1, dtype: Any = numpy.float32, context: int = 128) -> dict[str, Any]:
    """Fill a folder; gives the tensors in float32 as they were stored. With several shards there is an index."""
    folder.mkdir(parents=True, exist_ok=True)
    made = tokenizer(architecture)
    settings = config(architecture) | {"vocab_size": made.get_vocab_size(), "max_position_embeddings": context}
    tensors = {name: values.astype(dtype) for name, values in weights(architecture, settings).items()}
    made.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps(settings))
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|end|>", "chat_template": "{{ messages[0]['content'] }}"}))
    names = sorted(tensors)
    if shards == 1:
        save_file(tensors, folder / "model.safetensors")
    else:
        files = {name: f"model-{number % shards + 1:05}-of-{shards:05}.safetensors" for number, name in enumerate(names)}
        for file in sorted(set(files.values())):
            save_file({name: tensors[name] for name in names if files[name] == file}, folder / file)
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": files}))
    return {name: values.astype(numpy.float32) for name, values in tensors.items()}


class Reference:
    """One text at a time, whole, no cache."""

    def __init__(self, folder: Path, tensors: dict[str, Any]) -> None:
        self._config = json.loads((folder / "config.json").read_text())
        self._take = {name: values.astype(numpy.float64) for name, values in tensors.items()}

    def logits(self, ids: list[int]) -> Any:
        """[tokens, vocabulary]."""
        hidden = self._take["model.embed_tokens.weight"][ids]
        for layer in range(self._config["num_hidden_layers"]):
            block = f"model.layers.{layer}"
            hidden = hidden + self._attend(self._norm(hidden, f"{block}.input_layernorm"), f"{block}.self_attn")
            inner = self._norm(hidden, f"{block}.post_attention_layernorm")
            gate, up = (self._dense(inner, f"{block}.mlp.{name}_proj") for name in ("gate", "up"))
            hidden = hidden + self._dense(gate / (1 + numpy.exp(-gate)) * up, f"{block}.mlp.down_proj")
        last = self._take.get("lm_head.weight", self._take["model.embed_tokens.weight"])
        return self._norm(hidden, "model.norm") @ last.T

    def _attend(self, hidden: Any, name: str) -> Any:
        heads, cached = self._config["num_attention_heads"], self._config["num_key_value_heads"]
        counts = {"q": heads, "k": cached, "v": cached}
        query, key, value = (self._split(self._dense(hidden, f"{name}.{part}_proj"), count) for part, count in counts.items())
        query, key = (self._rotate(self._norm(part, f"{name}.{letter}_norm")) for part, letter in ((query, "q"), (key, "k")))
        key, value = (numpy.repeat(part, heads // cached, axis=0) for part in (key, value))
        scores = query @ key.swapaxes(1, 2) / numpy.sqrt(query.shape[-1])
        scores = numpy.where(numpy.tril(numpy.ones(scores.shape[-2:])) > 0, scores, -numpy.inf)
        shares = numpy.exp(scores - scores.max(-1, keepdims=True))
        mixed = (shares / shares.sum(-1, keepdims=True)) @ value
        return self._dense(mixed.swapaxes(0, 1).reshape(hidden.shape[0], -1), f"{name}.o_proj")

    def _split(self, values: Any, heads: int) -> Any:
        return values.reshape(values.shape[0], heads, -1).swapaxes(0, 1)

    def _rotate(self, values: Any) -> Any:
        """Hugging Face's halves: the first half of a head turns with the second."""
        half = values.shape[-1] // 2
        angles = numpy.outer(numpy.arange(values.shape[1]), self._config["rope_theta"] ** (-numpy.arange(half) / half))
        first, second = values[..., :half], values[..., half:]
        cosine, sine = numpy.cos(angles), numpy.sin(angles)
        return numpy.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)

    def _norm(self, values: Any, name: str) -> Any:
        if f"{name}.weight" not in self._take:
            return values
        scale = numpy.sqrt((values**2).mean(-1, keepdims=True) + self._config["rms_norm_eps"])
        return values / scale * self._take[f"{name}.weight"]

    def _dense(self, values: Any, name: str) -> Any:
        return values @ self._take[f"{name}.weight"].T + self._take.get(f"{name}.bias", 0.0)
