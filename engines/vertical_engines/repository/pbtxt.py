"""`config.pbtxt` through Triton's own protobuf schema: parse with line and column, merge what the operator owns, print."""

from collections.abc import Mapping
from typing import Any

from google.protobuf import text_format  # type: ignore[import-untyped]
from tritonclient.grpc.model_config_pb2 import ModelConfig

from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure

PLACEHOLDER = "${"


def parse_config(text: str, *, where: str) -> Any:
    """A ModelConfig message; Failure PipelineInvalid with `line:column` and the parser's words when it is none."""
    try:
        return text_format.Parse(text, ModelConfig())
    except text_format.ParseError as error:
        raise Failure(Reason.PIPELINE_INVALID, f"{where}:{error}") from None


def print_config(config: Any) -> str:
    """Protobuf text format. Comments of the source are gone."""
    return str(text_format.MessageToString(config))


def refuse_placeholders(text: str, *, where: str) -> None:
    """Templates of other toolkits leave `${name}` for a script to fill in; Triton would take it literally."""
    for number, line in enumerate(text.splitlines(), start=1):
        if (column := line.find(PLACEHOLDER)) >= 0:
            raise Failure(
                Reason.PIPELINE_INVALID,
                f"{where}:{number}:{column + 1} : a placeholder is not filled in: {line.strip()}; write the value",
            )


def set_parameters(config: Any, parameters: Mapping[str, str]) -> None:
    """Values of the VerticalService win over those in the image."""
    for name, value in parameters.items():
        config.parameters[name].string_value = value


def enable_response_cache(config: Any, *, model: str, entrypoint: str) -> None:
    """Turn the cache on; Failure ResponseCacheConflict where Triton could not load the model, or clients would see cached errors."""
    if model == entrypoint:
        why = "it is the entry point, whose errors Triton would cache as empty answers; name the models behind it instead"
    elif config.model_transaction_policy.decoupled:
        why = "it is decoupled, which Triton can't cache"
    elif config.HasField("sequence_batching"):
        why = "it keeps sequences, which Triton can't cache"
    else:
        config.response_cache.enable = True
        return
    raise Failure(Reason.RESPONSE_CACHE_CONFLICT, f"responseCache.models names {model}: {why}")
