"""Policies: named pure functions that say whether a target can be built and served at all; one list, every use of it.

`check` and the status of an object come from here; the ValidatingAdmissionPolicy of the chart is generated from the same matrix
and holds the same words. What the schema of the API refuses needs no policy.
"""

from collections.abc import Iterator
from typing import TypeAlias

from vertical_engines.contract.reasons import Reason
from vertical_operator.api.v1alpha1.vertical_service import VerticalService
from vertical_operator.core.finding import Finding
from vertical_operator.core.identity import Target, targets
from vertical_operator.core.names import listed
from vertical_operator.core.policies.flags import flag_is_unknown, flag_value_is_wrong
from vertical_operator.core.policies.gpu import backend_has_no_gpu, backend_needs_gpu, release_lacks_architecture, world_size_differs
from vertical_operator.core.policies.kv_cache import (
    gpu_lacks_fused_attention,
    in_flight_lacks_plugin,
    int8_cache_meets_paged_attention,
    kv_cache_type_contradicts,
    layout_cannot_be_served,
    prefix_cache_lacks_attention,
    prefix_cache_needs_in_flight,
    static_batching_is_gone,
)
from vertical_operator.core.policies.limits import profiles_exclude_optimum, prompt_exceeds_step
from vertical_operator.core.policies.memory import weights_exceed_memory
from vertical_operator.core.policies.number_types import fp8_attention_needs_fp8, plugin_lacks_type, weights_lack_type
from vertical_operator.core.policies.openvino import openvino_lacks, settings_of_openvino_elsewhere
from vertical_operator.core.policies.policy import Policy
from vertical_operator.core.policies.pytorch import pytorch_lacks
from vertical_operator.core.policies.rendered import placeholder_is_left
from vertical_operator.core.policies.toolchain import engine_path_is_gone
from vertical_operator.core.settings import OperatorSettings

GpuProducts: TypeAlias = frozenset[str] | None
"""Products that nodes of the cluster have; None: not known (offline)."""

POLICIES: tuple[Policy, ...] = (
    engine_path_is_gone,
    backend_needs_gpu,
    backend_has_no_gpu,
    release_lacks_architecture,
    world_size_differs,
    weights_lack_type,
    layout_cannot_be_served,
    kv_cache_type_contradicts,
    static_batching_is_gone,
    prefix_cache_needs_in_flight,
    gpu_lacks_fused_attention,
    prefix_cache_lacks_attention,
    in_flight_lacks_plugin,
    int8_cache_meets_paged_attention,
    flag_is_unknown,
    flag_value_is_wrong,
    plugin_lacks_type,
    fp8_attention_needs_fp8,
    prompt_exceeds_step,
    profiles_exclude_optimum,
    weights_exceed_memory,
    openvino_lacks,
    pytorch_lacks,
    settings_of_openvino_elsewhere,
    placeholder_is_left,
)
"""What a placement is comes before how it is tuned: the first finding is the one that a status shows."""


def no_node_has_gpu(target: Target, products: GpuProducts) -> Iterator[Finding]:
    """The cluster has no node of that product; only asked where the cluster is known."""
    accelerator = target.identity.accelerator
    if accelerator is None or products is None or accelerator.product in products:
        return
    yield Finding(
        policy="no_node_has_gpu",
        field=f"{target.path}.accelerator.product",
        where=target.where,
        reason=Reason.NO_MATCHING_GPU,
        what=f"no node has the label nvidia.com/gpu.product={accelerator.product}",
        why=f"products in this cluster: {listed(sorted(products))}",
        instead="use one of these, or add such a node",
    )


def objections(target: Target, products: GpuProducts = None) -> Iterator[Finding]:
    """Everything that is wrong with one placement; what the spec itself gets wrong comes before what the cluster lacks."""
    for policy in POLICIES:
        yield from policy(target)
    yield from no_node_has_gpu(target, products)


def objection(target: Target, products: GpuProducts = None) -> Finding | None:
    """The first of them."""
    return next(objections(target, products), None)


def findings(service: VerticalService, settings: OperatorSettings) -> tuple[Finding, ...]:
    """Everything that is wrong with an object, in the order of its placements. What is wrong for several placements is said once."""
    found: dict[tuple[str, str, str], Finding] = {}
    for target in targets(service, settings):
        for each in [target] if isinstance(target, Finding) else objections(target):
            found.setdefault((each.policy, each.field, each.what), each)
    return tuple(found.values())
