"""Which weights can be had from which source, whether the source has to be written anew for that, and how large they get."""

from vertical_engines.builders.gguf import GgufHeader
from vertical_engines.contract.engine import Weights
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure

F32, F16, BF16 = 0, 1, 30
"""Types in a GGUF file."""
UNQUANTISED = frozenset({F32, F16, BF16})
BYTES_PER_WEIGHT = {"source": 2.0, "float16": 2.0, "int8": 34 / 32, "int4": 20 / 32}
"""Blocks of 32 values with their scale, and their least value with int4."""


def stored_bytes(parameters: int, weights: Weights) -> int:
    """Room for that many weights, estimated."""
    return int(parameters * BYTES_PER_WEIGHT.get(weights, 2.0))


def check_gguf(header: GgufHeader, weights: Weights) -> None:
    """Raises UnsupportedBuildFlag for weights that would be a second loss on top of the first."""
    check_known(weights)
    if weights in ("int8", "int4") and not header.matrix_types <= UNQUANTISED:
        raise _refusal(weights, "the source is quantised already, so that it would lose twice: use source (as it is) or float16 (unpacked)")


def check_ir(weights: Weights) -> None:
    """An IR is taken as it is."""
    if weights != "source":
        raise _refusal(weights, "an OpenVINO IR is taken as it is: use source, or the GGUF file or checkpoint that it was made from")


def check_known(weights: Weights) -> None:
    if weights not in BYTES_PER_WEIGHT:
        raise _refusal(weights, f"OpenVINO builds {', '.join(BYTES_PER_WEIGHT)}")


def wanted_type(weights: Weights) -> Weights:
    """The type to write. `source` of an unquantised model is float16: the runtime's reader takes no float32 or bfloat16."""
    return "float16" if weights == "source" else weights


def has_to_be_written(header: GgufHeader, weights: Weights) -> bool:
    """Whether a GGUF file can't be read as it is."""
    if weights == "source":
        return bool(header.matrix_types & {F32, BF16})
    return not (weights == "float16" and header.matrix_types <= {F16})


def _refusal(weights: Weights, why: str) -> Failure:
    return Failure(Reason.UNSUPPORTED_BUILD_FLAG, f"weights: {weights}: {why}")
