"""The operator's small printer against Triton's own schema."""

from google.protobuf import text_format
from tritonclient.grpc.model_config_pb2 import ModelConfig as TritonConfig

from vertical_engines.contract.triton_config import GENERATOR_INPUTS, GENERATOR_OUTPUTS, ModelConfig, TensorConfig
from vertical_engines.repository.pbtxt import parse_config, print_config


def test_every_field_of_the_printer_is_read_back_by_triton() -> None:
    written = ModelConfig(
        name="generator",
        max_batch_size=4,
        inputs=GENERATOR_INPUTS,
        outputs=(*GENERATOR_OUTPUTS, TensorConfig(name="scores", data_type="TYPE_FP32", dims=(-1, 8))),
        parameters={"quoted": 'a "b" \\ c\nd', "unicode": "가게"},
        instance_count=3,
        response_cache=True,
        decoupled=True,
    )
    read = text_format.Parse(written.to_pbtxt(), TritonConfig())
    assert (read.name, read.backend, read.max_batch_size) == ("generator", "python", 4)
    assert [(one.name, one.optional) for one in read.input] == [("prompt", False), ("max_tokens", True), ("cache_salt", True)]
    assert [one.name for one in read.output] == ["text", "tokens", "finish_reason", "engine", "scores"]
    assert list(read.output[4].dims) == [-1, 8]
    assert {key: value.string_value for key, value in read.parameters.items()} == written.parameters
    assert read.instance_group[0].count == 3
    assert read.response_cache.enable
    assert read.model_transaction_policy.decoupled


def test_a_config_survives_printing() -> None:
    text = 'name: "a" dynamic_batching { max_queue_delay_microseconds: 100 } optimization { priority: PRIORITY_MAX }'
    config = parse_config(text, where="a/config.pbtxt")
    assert parse_config(print_config(config), where="again") == config
