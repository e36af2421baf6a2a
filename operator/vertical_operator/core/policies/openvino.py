"""Policies on the backend OpenVINO: what it does not have."""

from collections.abc import Iterator

from vertical_engines.contract.reasons import Reason
from vertical_operator.core.finding import Finding
from vertical_operator.core.identity import Target
from vertical_operator.core.policies.policy import finding


def openvino_lacks(target: Target) -> Iterator[Finding]:
    """Beam search, fp8 weights and host memory for prefixes."""
    if target.release.backend != "OpenVINO":
        return
    cache = target.variant.prefix_cache
    given = {
        f"{target.variant_path}.buildConfig.max_beam_width": (target.identity.build.max_beam_width > 1, "beam search", "set it to 1"),
        "spec.model.weights": (target.identity.weights == "fp8", "fp8 weights", "use int8, or source"),
        f"{target.variant_path}.prefixCache.hostMemory": (
            cache is not None and cache.host_memory is not None,
            "host memory for prefixes (they are in host memory already)",
            "remove it",
        ),
    }
    for field, (used, name, instead) in given.items():
        if used:
            yield finding(
                target,
                field,
                policy=openvino_lacks,
                reason=Reason.UNSUPPORTED_BUILD_FLAG,
                what=f"backend OpenVINO has no {name}",
                why="its runtime has no such thing",
                instead=instead,
            )
