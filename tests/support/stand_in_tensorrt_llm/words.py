"""A tokenizer of a dozen words for stand-in models: one token a word."""

import json
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

WORDS = ["<end>", "<unknown>", *["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]]


def write_tokenizer(folder: Path, **generation: object) -> None:
    """tokenizer.json, and a generation_config.json that ends sequences with `<end>`."""
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unknown>"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.add_special_tokens(["<end>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": 0, **generation}))
