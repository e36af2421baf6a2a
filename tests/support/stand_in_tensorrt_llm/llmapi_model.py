"""A stand-in for NVIDIA's llmapi model: reads its model.yaml as that does, and answers the prompt's words backwards."""

import json
from pathlib import Path

import numpy
import triton_python_backend_utils as pb


class TritonPythonModel:
    """Cuts off at sampling_param_max_tokens words."""

    def initialize(self, args: dict[str, str]) -> None:
        stored = json.loads((Path(pb.get_model_dir()) / "model.yaml").read_text())
        assert Path(stored["model"], "tokenizer.json").is_file()
        assert stored["triton_config"] == {"max_batch_size": 0, "decoupled": False}

    def execute(self, requests: list[object]) -> list[object]:
        return [self._answer(request) for request in requests]

    def _answer(self, request: object) -> object:
        given = {tensor.name(): tensor.as_numpy() for tensor in request.inputs()}  # type: ignore[attr-defined]
        assert bool(given["sampling_param_exclude_input_from_output"].item())
        assert bool(given["return_finish_reason"].item())
        words = given["text_input"].item().decode().split()[::-1]
        room = int(given["sampling_param_max_tokens"].item())
        reason = "length" if len(words) >= room else "stop"
        outputs = [("text_output", " ".join(words[:room])), ("finish_reason", reason)]
        return pb.InferenceResponse(output_tensors=[pb.Tensor(name, numpy.array([text.encode()], dtype=object)) for name, text in outputs])
