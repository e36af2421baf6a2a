"""The two openvino-genai pipelines behind what the loops ask for: contiguous KV cache one by one, paged KV cache in a batch."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openvino_genai

from vertical_engines.models.kv_memory import PrefixCache, kv_blocks
from vertical_engines.models.limits import Limits
from vertical_engines.models.openvino_loading import Loading
from vertical_engines.models.refusal import Refusal
from vertical_engines.models.ticket import FinishReason, Generated, Ticket


class Greedy:
    """Greedy decoding; the prompt is taken as it is, since a chat template is the pipeline's business.

    With `ignore_end` every answer has as many tokens as were asked for: that is for measuring.
    """

    def __init__(self, *, end_token: int, ignore_end: bool) -> None:
        self._end_token = end_token
        self._ignore_end = ignore_end

    def config(self, max_tokens: int) -> Any:
        config = openvino_genai.GenerationConfig(
            max_new_tokens=max_tokens, do_sample=False, apply_chat_template=False, ignore_eos=self._ignore_end
        )
        config.set_eos_token_id(self._end_token)
        return config


def finish_reason(reason: Any) -> FinishReason:
    return "length" if reason == openvino_genai.GenerationFinishReason.LENGTH else "stop"


class ContiguousGenerator:
    """LLMPipeline with SDPA attention."""

    def __init__(self, engine: Path, *, loading: Loading, ignore_end: bool) -> None:
        self._pipeline = openvino_genai.LLMPipeline(str(engine), "CPU", ATTENTION_BACKEND="SDPA", **loading.device())
        self.tokenizer = self._pipeline.get_tokenizer()
        self._decoding = Greedy(end_token=self.tokenizer.get_eos_token_id(), ignore_end=ignore_end)

    def generate(self, ticket: Ticket, *, keep_going: Callable[[], bool]) -> Generated | None:
        watcher = _Watcher(keep_going)
        result = self._pipeline.generate(ticket.tokens, self._decoding.config(ticket.max_tokens), watcher)
        if watcher.ended:
            return None
        tokens = result.tokens[0]
        return Generated(self.tokenizer.decode(tokens), len(tokens), finish_reason(result.finish_reasons[0]))


class _Watcher(openvino_genai.StreamerBase):  # type: ignore[misc]
    """Called by the pipeline after each token; it only decides whether to go on."""

    def __init__(self, keep_going: Callable[[], bool]) -> None:
        super().__init__()
        self._keep_going = keep_going
        self.ended = False

    def write(self, token: object) -> Any:
        self.ended = not self._keep_going()
        return openvino_genai.StreamingStatus.CANCEL if self.ended else openvino_genai.StreamingStatus.RUNNING

    def end(self) -> None:
        """Nothing is buffered here."""


class PagedBatch:
    """ContinuousBatchingPipeline, one step at a time."""

    def __init__(
        self, engine: Path, *, limits: Limits, prefix: PrefixCache, loading: Loading, tokens_per_step: int, ignore_end: bool
    ) -> None:
        scheduler = openvino_genai.SchedulerConfig()
        scheduler.max_num_seqs = limits.max_live_requests
        scheduler.max_num_batched_tokens = tokens_per_step
        scheduler.enable_prefix_caching = prefix.enabled
        scheduler.num_kv_blocks = kv_blocks(engine, limits=limits, prefix=prefix, value_bytes=loading.value_bytes)
        self._pipeline = openvino_genai.ContinuousBatchingPipeline(str(engine), scheduler, "CPU", loading.device())
        self.tokenizer = self._pipeline.get_tokenizer()
        self._decoding = Greedy(end_token=self.tokenizer.get_eos_token_id(), ignore_end=ignore_end)
        self._numbers = itertools.count()

    def add(self, ticket: Ticket) -> Any:
        return self._pipeline.add_request(next(self._numbers), ticket.tokens, self._decoding.config(ticket.max_tokens))

    def step(self) -> None:
        self._pipeline.step()

    def result(self, handle: Any) -> Generated | None:
        status = handle.get_status()
        if status == openvino_genai.GenerationStatus.RUNNING:
            return None
        if status != openvino_genai.GenerationStatus.FINISHED:
            raise Refusal("UNAVAILABLE", f"the scheduler gave the request up ({status.name}): no room in the KV cache")
        output = handle.read_all()[0]
        tokens = output.generated_ids
        return Generated(self.tokenizer.decode(tokens), len(tokens), finish_reason(output.finish_reason))

    def cancel(self, handle: Any) -> None:
        handle.cancel()
