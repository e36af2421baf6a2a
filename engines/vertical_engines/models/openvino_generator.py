"""The SLM as a Triton python model on OpenVINO, in one of two styles: realtime or inflight.

The prompt is taken verbatim: no chat template is applied, for the pipeline that writes the prompt knows which one it wants.
Decoding is greedy. The optional input `cache_salt` is not read here: it only separates entries of Triton's response cache.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

from vertical_engines.models.containment import contained
from vertical_engines.models.inflight import InflightLoop
from vertical_engines.models.kv_memory import PrefixCache
from vertical_engines.models.limits import Limits
from vertical_engines.models.openvino_loading import Loading
from vertical_engines.models.openvino_pipelines import ContiguousGenerator, PagedBatch
from vertical_engines.models.realtime import RealtimeLoop
from vertical_engines.models.ticket import Loop, Ticket
from vertical_engines.models.tokenizing import PromptTokenizer
from vertical_engines.models.traffic import Traffic, TritonTraffic
from vertical_engines.models.triton_reply import TritonReply
from vertical_engines.models.triton_tensors import read_number, read_text

DEFAULT_TOKENS_PER_STEP = 256


class TritonPythonModel:
    """Created by Triton's python backend, one instance a pod: each would hold weights and KV cache of its own.

    execute() only checks and queues; the loop's thread answers through response senders, so that requests overlap
    although the model is not decoupled, and plain HTTP, BLS calls and the response cache work.
    """

    def initialize(self, args: dict[str, str]) -> None:
        config = json.loads(args["model_config"])
        parameters = {name: value["string_value"] for name, value in config.get("parameters", {}).items()}
        self._limits = Limits.from_parameters(parameters)
        self._engine = parameters["engine_key"][:10]
        self._loop, tokenizer = start_loop(parameters, limits=self._limits, traffic=TritonTraffic(model=args["model_name"]))
        self._tokenizer = PromptTokenizer(tokenizer, limits=self._limits)

    def execute(self, requests: list[Any]) -> None:
        for request in requests:
            reply = TritonReply(request, engine=self._engine)
            if why := contained(self._accept, request, reply):
                reply.fail(why)

    def finalize(self) -> None:
        self._loop.close()

    def _accept(self, request: Any, reply: TritonReply) -> None:
        tokens = self._tokenizer.encode(read_text(request, "prompt"))
        max_tokens = self._limits.resolve_max_tokens(asked=read_number(request, "max_tokens"), prompt_tokens=int(tokens.shape[1]))
        self._loop.submit(Ticket(tokens, max_tokens, reply))


def start_loop(parameters: dict[str, str], *, limits: Limits, traffic: Traffic) -> tuple[Loop, Any]:
    """The loop of the wanted style, already running, and the engine's tokenizer."""
    engine = Path(parameters["engine_dir"])
    ignore_end = parameters.get("ignore_end_token") == "true"
    match parameters["style"]:
        case "realtime":
            generator = ContiguousGenerator(engine, loading=_loading(parameters, cached=True), ignore_end=ignore_end)
            return RealtimeLoop(generator, waiting=limits.max_waiting_requests, traffic=traffic), generator.tokenizer
        case "inflight":
            batch = PagedBatch(
                engine,
                limits=limits,
                prefix=PrefixCache.from_parameters(parameters),
                # A blob gains nothing with paged attention: 2.2 s of loading without, 2.0 to 2.2 s with one (measured).
                loading=_loading(parameters, cached=False),
                tokens_per_step=int(parameters.get("max_num_batched_tokens", DEFAULT_TOKENS_PER_STEP)),
                ignore_end=ignore_end,
            )
            return InflightLoop(batch, live=limits.max_live_requests, waiting=limits.max_waiting_requests, traffic=traffic), batch.tokenizer
        case style:
            raise ValueError(f"parameter style is {style!r}, realtime or inflight is needed")


def _loading(parameters: dict[str, str], *, cached: bool) -> Loading:
    return Loading.from_parameters(parameters, scratch=Path(tempfile.gettempdir()), cached=cached)
