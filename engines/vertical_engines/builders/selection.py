"""Which builder builds for which backend."""

from importlib import metadata

from vertical_engines.builders.protocol import Builder
from vertical_engines.contract.engine import Backend
from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.toolchains import Matrix
from vertical_engines.failure import Failure

NEEDS = {"OpenVINO": "openvino-genai", "TensorRTLLM": "tensorrt_llm", "TensorRTLLMPyTorch": "tensorrt_llm"}
"""The distribution that an image of a backend has."""


def builder_for(backend: Backend, known: Matrix) -> Builder:
    """The builder of this image for a backend. Raises UnknownToolchain when the image is one of another backend."""
    try:
        metadata.version(NEEDS[backend])
    except metadata.PackageNotFoundError:
        raise Failure(
            Reason.UNKNOWN_TOOLCHAIN,
            f"this image does not build for {backend}: it has no {NEEDS[backend]}; correct spec.toolchain.image or spec.toolchain.backend",
        ) from None
    return known_builder(backend, known)


def known_builder(backend: Backend, known: Matrix) -> Builder:
    """The builder of a backend, whether this image has its programs or not: to plan with."""
    if backend == "OpenVINO":
        from vertical_engines.builders.openvino import OpenVinoBuilder

        return OpenVinoBuilder()
    if backend == "TensorRTLLM":
        from vertical_engines.builders.tensorrt_llm.engine_builder import TensorRtLlmBuilder

        return TensorRtLlmBuilder(known=known)
    from vertical_engines.builders.tensorrt_llm.pytorch_builder import TensorRtLlmPyTorchBuilder

    return TensorRtLlmPyTorchBuilder(known=known)
