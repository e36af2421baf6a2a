"""Which builder builds for which backend."""

from vertical_engines.builders.protocol import Builder
from vertical_engines.contract.engine import Backend
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure


def builder_for(backend: Backend) -> Builder:
    """The builder of this image for a backend. Raises UnknownToolchain when this image has none."""
    if backend == "OpenVINO":
        from vertical_engines.builders.openvino import OpenVinoBuilder

        return OpenVinoBuilder()
    raise Failure(
        Reason.UNKNOWN_TOOLCHAIN,
        f"this image builds for OpenVINO only, not for {backend}: correct spec.toolchain.image or spec.toolchain.backend",
    )
