"""A sentence encoder as a Triton python model on OpenVINO: texts in, embeddings of length 1 out.

The files that `vertical_engines.models.bert.build_encoder` writes are expected in the model's version folder, or where
the parameter `encoder_dir` points. Input `text` TYPE_STRING [-1]; output `embedding` TYPE_FP32 [-1, -1]: one row a text.
Texts that are too long are cut, as the encoder was trained.
"""

import json
from pathlib import Path
from typing import Any

import triton_python_backend_utils as triton

from vertical_engines.models.containment import contained
from vertical_engines.models.refusal import Refusal
from vertical_engines.models.sentence_encoder import SentenceEncoder
from vertical_engines.models.triton_reply import triton_error
from vertical_engines.models.triton_tensors import read_texts

DEFAULT_TEXTS = 256
"""Texts of one request; more would hold the model for seconds."""


class TritonPythonModel:
    """One request at a time: its texts are one batch."""

    def initialize(self, args: dict[str, str]) -> None:
        config = json.loads(args["model_config"])
        parameters = {name: value["string_value"] for name, value in config.get("parameters", {}).items()}
        folder = parameters.get("encoder_dir") or str(Path(args["model_repository"]) / args["model_version"])
        self._encoder = SentenceEncoder(Path(folder))
        self._most = int(parameters.get("max_texts", DEFAULT_TEXTS))

    def execute(self, requests: list[Any]) -> list[Any]:
        responses: list[Any] = []
        for request in requests:
            if why := contained(self._encode, request, responses):
                responses.append(triton.InferenceResponse(error=triton_error(why)))
        return responses

    def _encode(self, request: Any, responses: list[Any]) -> None:
        texts = read_texts(request, "text")
        if not 1 <= len(texts) <= self._most:
            raise Refusal("INVALID_ARG", f"text: {len(texts)} texts, from 1 to {self._most} can be encoded at once")
        embedding = triton.Tensor("embedding", self._encoder.encode(texts))
        responses.append(triton.InferenceResponse(output_tensors=[embedding]))
