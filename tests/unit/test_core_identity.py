"""From variant and placement to an engine: which toolchain, which image, which key."""

from typing import Any

import pytest

from tests.support.objects import BUILD, REMOVED, VARIANT, service
from vertical_engines.contract.reasons import Reason
from vertical_operator.api.v1alpha1 import VerticalService, parse
from vertical_operator.core.identity import Refusal, Target, targets
from vertical_operator.core.placement import refusal
from vertical_operator.core.settings import OperatorSettings

GPU = {"product": "Tesla-T4", "count": 1}
LLM = {"backend": "TensorRTLLM", "release": "24.09"}
PLACEMENT = f"{VARIANT}.placements.0"


def target(*changes: tuple[str, Any], settings: OperatorSettings | None = None) -> Target:
    found = targets(parse(VerticalService, service(*changes)), settings or OperatorSettings())[0]
    assert isinstance(found, Target)
    return found


def test_the_nearest_toolchain_wins() -> None:
    far, near, nearest = ({"backend": "TensorRTLLM", "release": release} for release in ("24.04", "24.05", "24.06"))
    assert target(("spec.toolchain", far)).identity.toolchain.release == "24.04"
    assert target(("spec.toolchain", far), (f"{VARIANT}.toolchain", near)).identity.toolchain.release == "24.05"
    both = target(("spec.toolchain", far), (f"{VARIANT}.toolchain", near), (f"{PLACEMENT}.toolchain", nearest))
    assert both.identity.toolchain.release == "24.06"


@pytest.mark.parametrize(
    ("settings", "image"),
    [
        (OperatorSettings(), "vertical-engines-openvino:2026.4"),
        (OperatorSettings(registry="mirror.example.com/slm/"), "mirror.example.com/slm/vertical-engines-openvino:2026.4"),
        (OperatorSettings(registry="mirror.example.com", toolchain_images={"OpenVINO/2026.4": "other:1"}), "other:1"),
    ],
)
def test_the_installation_can_point_at_other_images(settings: OperatorSettings, image: str) -> None:
    assert target(settings=settings).identity.toolchain.image == image


def test_the_objects_own_image_wins() -> None:
    settings = OperatorSettings(registry="mirror.example.com", toolchain_images={"OpenVINO/2026.4": "other:1"})
    assert target(("spec.toolchain.image", "mine:2"), settings=settings).identity.toolchain.image == "mine:2"


SAME_BYTES: list[tuple[str, Any]] = [
    (f"{PLACEMENT}.replicas", 7),
    (f"{PLACEMENT}.nodeSelector", {"pool": "a"}),
    (f"{PLACEMENT}.resources", {"limits": {"memory": "9Gi"}}),
    (f"{VARIANT}.responseCache", {"size": "1Gi", "models": ["generator"]}),
    (f"{VARIANT}.name", "other"),
    ("spec.pipeline.image.reference", "pipeline:2"),
    ("spec.model.name", "writer"),
    (f"{BUILD}.max_beam_width", 1),
]
OTHER_BYTES: list[tuple[str, Any]] = [
    ("spec.model.revision", "2"),
    ("spec.model.weights", "int8"),
    ("spec.model.source.image.reference", "models:2"),
    ("spec.model.source.image.path", "/models/large"),
    ("spec.toolchain.image", "mine:2"),
    (f"{BUILD}.max_input_len", 255),
    (f"{BUILD}.max_batch_size", 2),
    (f"{BUILD}.plugin_config.paged_kv_cache", True),
    (f"{BUILD}.plugin_config.gemm_plugin", "auto"),
    (f"{PLACEMENT}.accelerator", GPU),
]


@pytest.mark.parametrize("change", SAME_BYTES, ids=lambda change: change[0])
def test_what_leaves_the_bytes_alone_leaves_the_key_alone(change: tuple[str, Any]) -> None:
    assert target(change).key == target().key


@pytest.mark.parametrize("change", OTHER_BYTES, ids=lambda change: change[0])
def test_what_changes_the_bytes_changes_the_key(change: tuple[str, Any]) -> None:
    assert target(change).key != target().key


def test_an_unknown_release_names_the_known_ones() -> None:
    found = targets(parse(VerticalService, service(("spec.toolchain.release", "1999.1"))), OperatorSettings())[0]
    assert isinstance(found, Refusal)
    assert found.reason is Reason.UNKNOWN_TOOLCHAIN
    assert "OpenVINO has no release 1999.1; choose one of: 2026.4" in found.message


PAGED = (f"{BUILD}.plugin_config.paged_kv_cache", True)
HUB = {"huggingFace": {"repository": "o/m", "revision": "1"}}
ON_T4 = [("spec.toolchain", LLM), (f"{PLACEMENT}.accelerator", GPU)]
ON_A100 = [("spec.toolchain", {**LLM, "release": "25.06"}), (f"{PLACEMENT}.accelerator.product", "NVIDIA-A100-SXM4-80GB")]

POLICY_ROWS: list[tuple[str, list[tuple[str, Any]], Reason | None, str]] = [
    ("fine on CPU", [], None, ""),
    ("fine on T4", ON_T4, None, ""),
    ("hub", [("spec.model.source", HUB)], Reason.UNSUPPORTED_MODEL_SOURCE, "spec.model.source.huggingFace"),
    ("GPU backend on CPU", [("spec.toolchain", LLM)], Reason.INVALID_SPEC, "set accelerator.product"),
    ("CPU backend on GPU", [(f"{PLACEMENT}.accelerator", GPU)], Reason.GPU_ARCH_UNSUPPORTED, "runs on CPUs only"),
    (
        "T4 too new a release",
        [*ON_T4, ("spec.toolchain.release", "25.06")],
        Reason.GPU_ARCH_UNSUPPORTED,
        "does not run on Tesla-T4 (SM75); releases that do: 24.04",
    ),
    ("contiguous on a late release", ON_A100, Reason.KV_CACHE_BATCHING_CONFLICT, "set buildConfig.plugin_config.paged_kv_cache to true"),
    (
        "prefix cache, static",
        [PAGED, (f"{VARIANT}.batching", "Static"), (f"{VARIANT}.prefixCache", {"enabled": True})],
        Reason.KV_CACHE_BATCHING_CONFLICT,
        "set batching to InFlight",
    ),
    ("beams on OpenVINO", [(f"{BUILD}.max_beam_width", 4)], Reason.UNSUPPORTED_BUILD_FLAG, "max_beam_width"),
    ("fp8 on OpenVINO", [("spec.model.weights", "fp8")], Reason.UNSUPPORTED_BUILD_FLAG, "fp8"),
]


@pytest.mark.parametrize("row", POLICY_ROWS, ids=lambda row: row[0])
def test_policies(row: tuple[str, list[tuple[str, Any]], Reason | None, str]) -> None:
    _, changes, reason, fragment = row
    found = refusal(target(*changes), frozenset({"Tesla-T4", "NVIDIA-A100-SXM4-80GB"}))
    assert (found.reason if found else None) is reason
    assert found is None or fragment in found.message


def test_a_product_that_no_node_has_is_answered_with_those_that_exist() -> None:
    found = refusal(target(*ON_T4), frozenset({"NVIDIA-L4", "NVIDIA-A10"}))
    assert found is not None
    assert found.reason is Reason.NO_MATCHING_GPU
    assert "nvidia.com/gpu.product=Tesla-T4; products in this cluster: NVIDIA-A10, NVIDIA-L4" in found.message


def test_offline_the_cluster_is_not_asked_for_products() -> None:
    assert refusal(target(*ON_T4), None) is None


def test_a_store_of_its_own_is_named_after_the_service() -> None:
    assert target(("spec.engineStore", {"volumeClaimTemplate": {"size": "1Gi"}})).claim == "reviews-engines"
    assert target(("metadata.name", "other"), ("spec.engineStore.persistentVolumeClaim.claimName", "shared")).claim == "shared"


def test_removed_toolchain_is_taken_from_the_placement() -> None:
    assert target(("spec.toolchain", REMOVED), (f"{PLACEMENT}.toolchain", LLM)).identity.toolchain.backend == "TensorRTLLM"
