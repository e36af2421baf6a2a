"""The SLM as a thin Triton python model over a TensorRT-LLM engine: it calls tokenizing, engine and detokenizing by BLS.

Prompt and limits are the OpenVINO generator's; decoding is greedy. Requests overlap in threads, so that the engine can batch them.
"""

from typing import Annotated

import numpy

from vertical_engines.contract.serving import inner_models
from vertical_engines.models.generator_schema import GeneratorRequest, GeneratorResponse, within
from vertical_engines.models.limits import Limits
from vertical_engines.models.tensorrt_llm_postprocessing import TextRequest, TextResponse
from vertical_engines.models.tensorrt_llm_preprocessing import TokensRequest, TokensResponse
from vertical_engines.sdk import NDArray, TritonFieldModel, TritonType
from vertical_engines.sdk import TritonPythonModel as Model

Row = Annotated[NDArray, TritonType("TYPE_INT32", dims=(-1, -1))]


class EngineRequest(TritonFieldModel):
    """A batch of one: every tensor has a first dimension of 1."""

    input_ids: Row
    input_lengths: Row
    request_output_len: Row
    end_id: Row
    pad_id: Row
    runtime_top_k: Row
    decoder_input_ids: Annotated[NDArray | None, TritonType("TYPE_INT32", dims=(-1, -1))] = None
    decoder_input_lengths: Annotated[NDArray | None, TritonType("TYPE_INT32", dims=(-1, -1))] = None
    stop_words_list: Annotated[NDArray | None, TritonType("TYPE_INT32", dims=(-1, -1, -1))] = None


class EngineResponse(TritonFieldModel):
    """`output_ids` [1, beams, longest], `sequence_length` [1, beams]; the prompt is not in it."""

    output_ids: Annotated[NDArray, TritonType("TYPE_INT32", dims=(-1, -1, -1))]
    sequence_length: Row


class TritonPythonModel(Model[GeneratorRequest, GeneratorResponse]):
    """Parameters: engine_key, max_live_requests, the limits."""

    request_model = GeneratorRequest
    response_model = GeneratorResponse

    def setup(self) -> None:
        self._limits = Limits.from_parameters(self.parameters)
        self._engine = self.parameters["engine_key"][:10]
        self._names = inner_models(self.model_name)
        # One more than the engine holds, so that the next request is tokenized while it works.
        type(self).concurrency = self._limits.max_live_requests + 1

    def handle(self, request: GeneratorRequest) -> GeneratorResponse:
        tokens = self._infer_model(TokensRequest(prompt=request.prompt), TokensResponse, self._names.preprocessing)
        count = len(tokens.input_ids)
        within(lambda: self._limits.check_prompt(count))
        longest = within(lambda: self._limits.resolve_max_tokens(asked=request.max_tokens, prompt_tokens=count))
        answer = self._infer_model(engine_request(tokens, longest=longest), EngineResponse, self._names.engine)
        ids = answer.output_ids[0, 0, : int(answer.sequence_length[0, 0])].tolist()
        ended = bool(ids) and ids[-1] in tokens.end_ids
        text = self._infer_model(TextRequest(output_ids=ids), TextResponse, self._names.postprocessing).text
        finish_reason = "stop" if ended or len(ids) < longest else "length"
        return GeneratorResponse(text=text, tokens=len(ids), finish_reason=finish_reason, engine=self._engine)


def engine_request(tokens: TokensResponse, *, longest: int) -> EngineRequest:
    """Greedy: the most probable token each time."""
    first, *others = tokens.end_ids or [-1]
    return EngineRequest(
        input_ids=_row(tokens.input_ids),
        input_lengths=_row([len(tokens.input_ids)]),
        request_output_len=_row([longest]),
        end_id=_row([first]),
        pad_id=_row([tokens.pad_id]),
        runtime_top_k=_row([1]),
        decoder_input_ids=_row(tokens.decoder_start) if tokens.decoder_start else None,
        decoder_input_lengths=_row([len(tokens.decoder_start)]) if tokens.decoder_start else None,
        stop_words_list=stop_words(others) if others else None,
    )


def stop_words(ids: list[int]) -> NDArray:
    """INT32 [1, 2, n]: words of one token each, and where each of them ends."""
    return numpy.array([[ids, list(range(1, len(ids) + 1))]], dtype=numpy.int32)


def _row(values: list[int]) -> NDArray:
    return numpy.array([values], dtype=numpy.int32)
