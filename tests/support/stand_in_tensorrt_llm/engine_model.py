"""A stand-in for Triton's tensorrtllm backend, as a python model: checks what the real one needs, and answers the prompt backwards.

It is written into a repository under the configuration that the real one gets, with the backend's name changed.
"""

import json

import numpy
import triton_python_backend_utils as pb

NEEDED = ("input_ids", "input_lengths", "request_output_len")


class TritonPythonModel:
    """Ends with end_id where there is room for it, else cut off at request_output_len."""

    def initialize(self, args: dict[str, str]) -> None:
        parameters = json.loads(args["model_config"])["parameters"]
        self._known = {name: value["string_value"] for name, value in parameters.items()}
        assert self._known["exclude_input_in_output"] == "true"

    def execute(self, requests: list[object]) -> list[object]:
        return [self._answer(request) for request in requests]

    def _answer(self, request: object) -> object:
        given = {tensor.name(): tensor.as_numpy() for tensor in request.inputs()}  # type: ignore[attr-defined]
        if missing := [name for name in NEEDED if name not in given]:
            return pb.InferenceResponse(error=pb.TritonError(f"missing {missing}"))
        if given["input_ids"].shape[0] != 1 or int(given["input_lengths"].ravel()[0]) != given["input_ids"].shape[1]:
            return pb.InferenceResponse(error=pb.TritonError(f"shapes: {[(n, t.shape) for n, t in given.items()]}"))
        room = int(given["request_output_len"].ravel()[0])
        end = int(given["end_id"].ravel()[0])
        answer = [*given["input_ids"][0].tolist()[::-1], end][:room]
        padded = [*answer, *[int(given["pad_id"].ravel()[0])] * 3]
        outputs = [
            pb.Tensor("output_ids", numpy.array([[padded]], numpy.int32)),
            pb.Tensor("sequence_length", numpy.array([[len(answer)]], numpy.int32)),
        ]
        return pb.InferenceResponse(output_tensors=outputs)
