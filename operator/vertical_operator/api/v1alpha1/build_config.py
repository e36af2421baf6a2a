"""The build configuration of a variant: TensorRT-LLM's own snake_case keys, so that a file people have can be pasted."""

from typing import ClassVar

from pydantic import ConfigDict, Field, StrictBool, StrictInt

from vertical_engines.contract.engine import BuildFlags
from vertical_engines.contract.frozen import Frozen
from vertical_operator.api.v1alpha1.rules import Rule, Ruled
from vertical_operator.api.v1alpha1.scalars import Requests, Tokens


class PluginConfig(Frozen):
    """Any key that the release knows; values are true or false, numbers, or strings such as enable and float16."""

    model_config = ConfigDict(alias_generator=None, extra="allow", use_attribute_docstrings=True)
    __pydantic_extra__: dict[str, StrictBool | StrictInt | str | None] = Field(init=False)

    paged_kv_cache: StrictBool = True
    """true: paged KV cache (needed by in-flight batching and prefix cache); false: contiguous."""

    def given(self) -> dict[str, bool | int | str]:
        """Every key with a value, as TensorRT-LLM spells them."""
        return {key: value for key, value in self.model_dump().items() if value is not None}


ONE_OUTPUT_LIMIT = Rule(
    cel="has(self.max_output_len) != has(self.max_seq_len)",
    message="set exactly one of max_output_len and max_seq_len (= max_input_len + max_output_len)",
    holds=lambda config: (config.max_output_len is None) != (config.max_seq_len is None),
)
ROOM_FOR_OUTPUT = Rule(
    cel="!has(self.max_seq_len) || self.max_seq_len > self.max_input_len",
    message="max_seq_len counts prompt and answer: raise it above max_input_len",
    holds=lambda config: config.max_seq_len is None or config.max_seq_len > config.max_input_len,
)


class BuildConfig(Ruled):
    """Limits of the engine in tokens and requests; they are enforced when serving."""

    model_config = ConfigDict(alias_generator=None, use_attribute_docstrings=True)
    rules: ClassVar[tuple[Rule, ...]] = (ONE_OUTPUT_LIMIT, ROOM_FOR_OUTPUT)

    max_input_len: Tokens
    """Longest prompt, in tokens."""
    max_output_len: Tokens | None = None
    """Longest answer, in tokens. Give this or max_seq_len, whatever the release."""
    max_seq_len: Tokens | None = None
    """Prompt and answer together, in tokens."""
    max_batch_size: Requests
    """Requests that run together."""
    max_beam_width: Requests = 1
    """Beams of beam search; 1 is none."""
    max_num_tokens: Tokens | None = None
    """Tokens of all requests in one step."""
    opt_num_tokens: Tokens | None = None
    """Tokens of a step that kernels are tuned for."""
    plugin_config: PluginConfig = PluginConfig()
    """TensorRT-LLM's plugin_config."""

    def flags(self) -> BuildFlags:
        """Resolved limits: both ways to give the answer's length end in the same flags, hence in the same engine key."""
        output = self.max_output_len if self.max_output_len is not None else (self.max_seq_len or 0) - self.max_input_len
        return BuildFlags(
            max_input_len=self.max_input_len,
            max_output_len=output,
            max_seq_len=self.max_input_len + output,
            max_batch_size=self.max_batch_size,
            max_beam_width=self.max_beam_width,
            max_num_tokens=self.max_num_tokens,
            opt_num_tokens=self.opt_num_tokens,
            kv_layout="paged" if self.plugin_config.paged_kv_cache else "contiguous",
            plugin_config=self.plugin_config.given(),
        )
