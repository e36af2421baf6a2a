"""Triton python model after a TensorRT-LLM engine: tokens to text."""

from pathlib import Path
from typing import Annotated

from vertical_engines.models.tokenizer_files import FileTokenizer
from vertical_engines.sdk import TritonFieldModel, TritonType
from vertical_engines.sdk import TritonPythonModel as Model


class TextRequest(TritonFieldModel):
    output_ids: Annotated[list[int], TritonType("TYPE_INT32")]


class TextResponse(TritonFieldModel):
    text: str


class TritonPythonModel(Model[TextRequest, TextResponse]):
    """`tokenizer_dir` is a folder of the engine."""

    request_model = TextRequest
    response_model = TextResponse

    def setup(self) -> None:
        self._tokenizer = FileTokenizer(Path(self.parameters["tokenizer_dir"]))

    def handle(self, request: TextRequest) -> TextResponse:
        return TextResponse(text=self._tokenizer.decode(request.output_ids))
