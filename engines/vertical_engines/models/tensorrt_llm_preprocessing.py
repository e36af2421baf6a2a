"""Triton python model before a TensorRT-LLM engine: a prompt, verbatim, to tokens."""

from pathlib import Path
from typing import Annotated

from vertical_engines.models.tokenizer_files import FileTokenizer
from vertical_engines.sdk import TritonFieldModel, TritonType
from vertical_engines.sdk import TritonPythonModel as Model


class TokensRequest(TritonFieldModel):
    prompt: str


class TokensResponse(TritonFieldModel):
    """`end_ids`: any of them ends a sequence. `decoder_start`: what a decoder behind an encoder begins with, else empty."""

    input_ids: Annotated[list[int], TritonType("TYPE_INT32")]
    end_ids: Annotated[list[int], TritonType("TYPE_INT32")]
    pad_id: Annotated[int, TritonType("TYPE_INT32")]
    decoder_start: Annotated[list[int], TritonType("TYPE_INT32")]


class TritonPythonModel(Model[TokensRequest, TokensResponse]):
    """`tokenizer_dir` is a folder of the engine."""

    request_model = TokensRequest
    response_model = TokensResponse

    def setup(self) -> None:
        self._tokenizer = FileTokenizer(Path(self.parameters["tokenizer_dir"]))

    def handle(self, request: TokensRequest) -> TokensResponse:
        tokenizer = self._tokenizer
        return TokensResponse(
            input_ids=tokenizer.encode(request.prompt),
            end_ids=tokenizer.end_ids,
            pad_id=tokenizer.pad_id,
            decoder_start=tokenizer.decoder_start,
        )
