"""`config.pbtxt` as typed values and its text form, for the few messages that the operator renders.

The text is checked against Triton's own protobuf schema in the tests and again when a pod assembles its repository;
a printer of this size keeps protobuf, gRPC and numpy out of the operator's image.
"""

import json
from typing import Literal

from pydantic import Field

from vertical_engines.contract.frozen import Frozen

DataType = Literal["TYPE_STRING", "TYPE_BOOL", "TYPE_INT32", "TYPE_INT64", "TYPE_UINT64", "TYPE_FP32"]


class TensorConfig(Frozen):
    name: str
    data_type: DataType
    dims: tuple[int, ...] = (1,)
    optional: bool = False


class ModelConfig(Frozen):
    """The subset of Triton's `ModelConfig` message that is rendered here."""

    name: str
    backend: str = "python"
    max_batch_size: int = 0
    inputs: tuple[TensorConfig, ...]
    outputs: tuple[TensorConfig, ...]
    parameters: dict[str, str] = Field(default_factory=dict)
    instance_count: int = 1
    response_cache: bool = False
    decoupled: bool = False

    def to_pbtxt(self) -> str:
        """Protobuf text format, one field a line, in a fixed order."""
        lines = [f"name: {json.dumps(self.name)}", f"backend: {json.dumps(self.backend)}", f"max_batch_size: {self.max_batch_size}"]
        for kind, tensors in (("input", self.inputs), ("output", self.outputs)):
            for tensor in tensors:
                lines += [f"{kind} {{", f"  name: {json.dumps(tensor.name)}", f"  data_type: {tensor.data_type}"]
                lines += [f"  dims: {size}" for size in tensor.dims]
                lines += ["  optional: true"] if tensor.optional and kind == "input" else []
                lines.append("}")
        lines += ["instance_group {", "  kind: KIND_CPU", f"  count: {self.instance_count}", "}"]
        lines += ["response_cache {", "  enable: true", "}"] if self.response_cache else []
        lines += ["model_transaction_policy {", "  decoupled: true", "}"] if self.decoupled else []
        for key, value in sorted(self.parameters.items()):
            lines += ["parameters {", f"  key: {json.dumps(key)}", "  value {", f"    string_value: {json.dumps(value)}", "  }", "}"]
        return "\n".join(lines) + "\n"


GENERATOR_INPUTS = (
    TensorConfig(name="prompt", data_type="TYPE_STRING"),
    TensorConfig(name="max_tokens", data_type="TYPE_INT32", optional=True),
    TensorConfig(name="cache_salt", data_type="TYPE_UINT64", optional=True),
)
"""Inputs of the SLM, whatever the backend: one prompt a request."""

GENERATOR_OUTPUTS = (
    TensorConfig(name="text", data_type="TYPE_STRING"),
    TensorConfig(name="tokens", data_type="TYPE_INT32"),
    TensorConfig(name="finish_reason", data_type="TYPE_STRING"),
    TensorConfig(name="engine", data_type="TYPE_STRING"),
)
"""`text` generated, `tokens` how many, `finish_reason` stop or length, `engine` the short engine key that answered."""
