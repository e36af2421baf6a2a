"""Policies on the backend OpenVINO: what it does not have, and what only it has."""

from collections.abc import Iterator

from vertical_engines.contract.reasons import Reason
from vertical_operator.core.finding import Finding
from vertical_operator.core.identity import Target
from vertical_operator.core.policies.policy import finding


def openvino_lacks(target: Target) -> Iterator[Finding]:
    """Beam search, fp8 and bfloat16 weights and host memory for prefixes."""
    if target.release.backend != "OpenVINO":
        return
    cache = target.variant.prefix_cache
    given = {
        f"{target.variant_path}.buildConfig.max_beam_width": (target.identity.build.max_beam_width > 1, "beam search", "set it to 1"),
        "spec.model.weights": (
            target.identity.weights in ("fp8", "bfloat16"),
            f"{target.identity.weights} weights",
            "use float16, int8 or int4, or source",
        ),
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


def settings_of_openvino_elsewhere(target: Target) -> Iterator[Finding]:
    """A variant whose placements have several backends has no settings of one of them."""
    if target.variant.openvino and target.release.backend != "OpenVINO":
        yield finding(
            target,
            f"{target.variant_path}.openvino",
            policy=settings_of_openvino_elsewhere,
            reason=Reason.INVALID_SPEC,
            what=f"openvino has settings of the backend OpenVINO, the toolchain here is {target.row}",
            why="another runtime would leave them out without a word",
            instead="remove it, or give this placement a variant of its own",
        )
