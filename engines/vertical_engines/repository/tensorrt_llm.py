"""The models behind an SLM on TensorRT-LLM: tokenizing, the engine in its own backend, detokenizing; each config.pbtxt as protobuf."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tritonclient.grpc import model_config_pb2 as triton

from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.serving import ServingPlan, inner_models
from vertical_engines.contract.toolchains import Release
from vertical_engines.failure import Failure
from vertical_engines.repository.pbtxt import set_parameters

Parameters = Mapping[str, str]

ENGINE, ENCODER, DECODER, TOKENIZER = "engine", "encoder", "decoder", "tokenizer"
"""Folders of a built engine."""

WORKER = "/opt/tritonserver/backends/tensorrtllm/trtllmExecutorWorker"
MEMORY_FRACTION = "0.9"
CROSS_FRACTION = "0.5"
"""Part of the KV cache that holds the encoder's side."""

STRING, INT32, FP32, BOOL = triton.TYPE_STRING, triton.TYPE_INT32, triton.TYPE_FP32, triton.TYPE_BOOL


def engine_models(plan: ServingPlan, release: Release, *, parameters: Parameters, encoder: bool) -> dict[str, Any]:
    """Name to ModelConfig of the three. `parameters` are those of the SLM's own configuration, as the operator rendered it."""
    names = inner_models(plan.model_name)
    return {
        names.preprocessing: preprocessing(names.preprocessing, parameters=parameters),
        names.engine: engine(names.engine, plan, release, parameters=parameters, encoder=encoder),
        names.postprocessing: postprocessing(names.postprocessing, parameters=parameters),
    }


def preprocessing(name: str, *, parameters: Parameters) -> Any:
    """Text to tokens, with the ids that end a sequence."""
    config = triton.ModelConfig(name=name, backend="python", max_batch_size=0)
    _tensor(config.input, "prompt", STRING, 1)
    for output, size in (("input_ids", -1), ("end_ids", -1), ("pad_id", 1), ("decoder_start", -1)):
        _tensor(config.output, output, INT32, size)
    return _finish(config, {"tokenizer_dir": f"{parameters['engine_dir']}/{TOKENIZER}"})


def postprocessing(name: str, *, parameters: Parameters) -> Any:
    """Tokens to text."""
    config = triton.ModelConfig(name=name, backend="python", max_batch_size=0)
    _tensor(config.input, "output_ids", INT32, -1)
    _tensor(config.output, "text", STRING, 1)
    return _finish(config, {"tokenizer_dir": f"{parameters['engine_dir']}/{TOKENIZER}", "skip_special_tokens": "true"})


def engine(name: str, plan: ServingPlan, release: Release, *, parameters: Parameters, encoder: bool) -> Any:
    """The engine under Triton's own backend. Only parameters that the release knows are written: a name that it does not know would be
    ignored without a word, and so would one that was misspelt."""
    config = triton.ModelConfig(name=name, backend="tensorrtllm", max_batch_size=plan.build.max_batch_size)
    _inputs(config)
    _outputs(config, release)
    if encoder:
        _tensor(config.input, "decoder_input_ids", INT32, -1, optional=True, ragged=True)
        _tensor(config.input, "decoder_input_lengths", INT32, 1, optional=True, scalar=True)
    config.dynamic_batching.max_queue_delay_microseconds = 0
    if "max_queue_size" in release.parameters:
        config.dynamic_batching.default_queue_policy.max_queue_size = 0
    config.model_transaction_policy.decoupled = False
    return _finish(config, _engine_parameters(plan, release, parameters=parameters, encoder=encoder))


def _engine_parameters(plan: ServingPlan, release: Release, *, parameters: Parameters, encoder: bool) -> dict[str, str]:
    inflight, folder = parameters["style"] == "inflight", parameters["engine_dir"]
    shared = parameters.get("prefix_caching") == "true"
    wanted = {
        "gpt_model_type": "inflight_fused_batching" if inflight else "V1",
        "gpt_model_path": f"{folder}/{DECODER if encoder else ENGINE}",
        "max_beam_width": str(plan.build.max_beam_width),
        "batch_scheduler_policy": "guaranteed_no_evict",
        "exclude_input_in_output": "true",
        "enable_kv_cache_reuse": "true" if shared else "false",
        "enable_chunked_context": "false",
    }
    if plan.build.kv_layout == "paged":
        wanted["kv_cache_free_gpu_mem_fraction"] = MEMORY_FRACTION
    if host := parameters.get("prefix_host_memory_bytes"):
        wanted["kv_cache_host_memory_bytes"] = host
    if encoder:
        wanted |= {"encoder_model_path": f"{folder}/{ENCODER}"}
        wanted |= {"cross_kv_cache_fraction": CROSS_FRACTION} if "cross_kv_cache_fraction" in release.parameters else {}
    for key, value in wanted.items():
        _check(release, key, value)
    # Read by the backend whatever the release, and no placeholders of a template.
    return {**wanted, "FORCE_CPU_ONLY_INPUT_TENSORS": "no", "executor_worker_path": WORKER}


def _check(release: Release, key: str, value: str) -> None:
    spec = release.parameters.get(key)
    if spec is None:
        raise Failure(
            Reason.MODEL_CONFIG_INVALID, f"release {release.release} of {release.backend} has no parameter {key}: choose a newer one"
        )
    if spec.choices and value.lower() not in spec.choices:
        raise Failure(
            Reason.BATCHING_UNSUPPORTED if key == "gpt_model_type" else Reason.MODEL_CONFIG_INVALID,
            f"release {release.release} of {release.backend} takes {', '.join(spec.choices)} for {key}, not {value}",
        )


def _inputs(config: Any) -> None:
    """Those that the SLM's own model sends; TensorRT-LLM knows more, all of them optional."""
    _tensor(config.input, "input_ids", INT32, -1, ragged=True)
    _tensor(config.input, "input_lengths", INT32, 1, scalar=True)
    _tensor(config.input, "request_output_len", INT32, 1)
    for name, kind in (("end_id", INT32), ("pad_id", INT32), ("beam_width", INT32), ("runtime_top_k", INT32)):
        _tensor(config.input, name, kind, 1, optional=True, scalar=True)
    words = _tensor(config.input, "stop_words_list", INT32, 2, optional=True, ragged=True)
    words.dims.append(-1)
    _tensor(config.input, "stop", BOOL, 1, optional=True)
    _tensor(config.input, "streaming", BOOL, 1, optional=True)


def _outputs(config: Any, release: Release) -> None:
    logits = release.parameters.get("logits_datatype")
    kind = triton.DataType.Value(str(logits.default)) if logits else FP32
    shapes = (("output_ids", INT32, 2), ("sequence_length", INT32, 1), ("cum_log_probs", FP32, 1), ("output_log_probs", FP32, 2))
    for name, data_type, rank in (*shapes, ("context_logits", kind, 2), ("generation_logits", kind, 3)):
        _tensor(config.output, name, data_type, *[-1] * rank)


def _tensor(where: Any, name: str, data_type: Any, *dims: int, optional: bool = False, ragged: bool = False, scalar: bool = False) -> Any:
    """`scalar`: one number a request, which the backend wants without a dimension of its own."""
    tensor = where.add(name=name, data_type=data_type, dims=dims)
    if optional:
        tensor.optional = True
    if ragged:
        tensor.allow_ragged_batch = True
    if scalar:
        tensor.reshape.SetInParent()
    return tensor


def _finish(config: Any, parameters: Mapping[str, str]) -> Any:
    config.instance_group.add(count=1, kind=triton.ModelInstanceGroup.KIND_CPU)
    set_parameters(config, parameters)
    return config


def has_encoder(engine_dir: Path) -> bool:
    return (engine_dir / ENCODER).is_dir()
