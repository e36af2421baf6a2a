"""The SLM as a thin Triton python model over TensorRT-LLM's LLM API: limits are checked here, text goes in and comes out by BLS."""

from pathlib import Path
from typing import Annotated

from vertical_engines.contract.serving import inner_models
from vertical_engines.models.generator_schema import GeneratorRequest, GeneratorResponse, within
from vertical_engines.models.limits import Limits
from vertical_engines.models.tokenizer_files import FileTokenizer
from vertical_engines.sdk import TritonFieldModel, TritonType
from vertical_engines.sdk import TritonPythonModel as Model

CHECKPOINT = "checkpoint"
"""Folder of the engine with the model's files, the tokenizer's among them."""


class LlmRequest(TritonFieldModel):
    """Names of NVIDIA's model."""

    text_input: list[str]
    sampling_param_max_tokens: Annotated[int, TritonType("TYPE_INT32")]
    sampling_param_top_k: Annotated[int, TritonType("TYPE_INT32")] = 1
    sampling_param_exclude_input_from_output: bool = True
    return_finish_reason: bool = True


class LlmResponse(TritonFieldModel):
    text_output: list[str]
    finish_reason: list[str]


class TritonPythonModel(Model[GeneratorRequest, GeneratorResponse]):
    """Parameters: engine_dir, engine_key, max_live_requests, the limits."""

    request_model = GeneratorRequest
    response_model = GeneratorResponse

    def setup(self) -> None:
        self._limits = Limits.from_parameters(self.parameters)
        self._engine = self.parameters["engine_key"][:10]
        self._tokenizer = FileTokenizer(Path(self.parameters["engine_dir"], CHECKPOINT))
        self._llm = inner_models(self.model_name).engine
        type(self).concurrency = self._limits.max_live_requests + 1

    def handle(self, request: GeneratorRequest) -> GeneratorResponse:
        count = len(self._tokenizer.encode(request.prompt))
        within(lambda: self._limits.check_prompt(count))
        longest = within(lambda: self._limits.resolve_max_tokens(asked=request.max_tokens, prompt_tokens=count))
        answer = self._infer_model(LlmRequest(text_input=[request.prompt], sampling_param_max_tokens=longest), LlmResponse, self._llm)
        text, reason = answer.text_output[0], answer.finish_reason[0]
        # The API does not tell how many tokens it wrote; counted from the text, so that a special end token is not among them.
        tokens = longest if reason == "length" else len(self._tokenizer.encode(text))
        return GeneratorResponse(text=text, tokens=tokens, finish_reason="length" if reason == "length" else "stop", engine=self._engine)
