"""Texts to embeddings with a built encoder: tokenizer and compiled model, no Triton."""

from pathlib import Path
from typing import Any

import numpy
import openvino
from tokenizers import Tokenizer

from vertical_engines.models.bert import IR_NAME, TOKENIZER_NAME


class SentenceEncoder:
    """Loads what `build_encoder` wrote into a folder."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_NAME))
        self._model = openvino.compile_model(folder / IR_NAME, "CPU")

    def encode(self, texts: list[str]) -> Any:
        """float32 [texts, hidden size], each row of length 1, in the order of the texts."""
        encoded = self._tokenizer.encode_batch(texts)
        tokens = numpy.array([text.ids for text in encoded], dtype=numpy.int64)
        mask = numpy.array([text.attention_mask for text in encoded], dtype=numpy.int64)
        return numpy.ascontiguousarray(self._model({"input_ids": tokens, "attention_mask": mask})["embedding"], dtype=numpy.float32)
