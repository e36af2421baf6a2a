"""From variant and placement to an engine: which toolchain, which image, which key."""

from typing import Any

import pytest

from tests.support.objects import BUILD, REMOVED, VARIANT, service
from vertical_engines.contract.reasons import Reason
from vertical_operator.api.v1alpha1 import VerticalService, parse
from vertical_operator.core.finding import Finding
from vertical_operator.core.identity import Target, targets
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
    assert isinstance(found, Finding)
    assert found.reason is Reason.UNKNOWN_TOOLCHAIN
    assert "OpenVINO has no release 1999.1: the compatibility matrix has no such row; choose one of: 2026.4" in found.message


def test_a_store_of_its_own_is_named_after_the_service() -> None:
    assert target(("spec.engineStore", {"volumeClaimTemplate": {"size": "1Gi"}})).store.claim_name == "reviews-engines"
    assert target(("metadata.name", "other"), ("spec.engineStore.persistentVolumeClaim.claimName", "shared")).store.claim_name == "shared"


def test_removed_toolchain_is_taken_from_the_placement() -> None:
    assert target(("spec.toolchain", REMOVED), (f"{PLACEMENT}.toolchain", LLM)).identity.toolchain.backend == "TensorRTLLM"


SHARED = (f"{VARIANT}.prefixCache", {"enabled": True})
ON_L4 = [
    ("spec.toolchain", {**LLM, "release": "26.06"}),
    (f"{PLACEMENT}.accelerator", {"product": "NVIDIA-L4"}),
    (f"{BUILD}.plugin_config.paged_kv_cache", True),
]
BY_HAND = (f"{BUILD}.plugin_config.use_paged_context_fmha", True)


def test_a_prefix_cache_changes_the_bytes_of_a_tensorrt_llm_engine() -> None:
    plain, shared = target(*ON_L4), target(*ON_L4, SHARED)
    assert shared.key != plain.key
    assert shared.identity.build.plugin_config["use_paged_context_fmha"] is True
    assert target(*ON_L4, BY_HAND).key == shared.key, "written by hand it is the same engine"
    assert target(*ON_L4, (f"{VARIANT}.prefixCache", {"enabled": False})).key == plain.key


def test_of_other_backends_a_prefix_cache_leaves_the_bytes_alone() -> None:
    paged = (f"{BUILD}.plugin_config.paged_kv_cache", True)
    assert target(paged, SHARED).key == target(paged).key
    api = [(path, {"backend": "TensorRTLLMPyTorch", "release": "26.06"} if path == "spec.toolchain" else value) for path, value in ON_L4]
    assert target(*api, SHARED).key == target(*api).key


def test_what_the_gpu_can_not_do_is_not_asked_of_the_build() -> None:
    on_t4 = [("spec.toolchain", LLM), (f"{PLACEMENT}.accelerator", GPU), (f"{BUILD}.plugin_config.paged_kv_cache", True)]
    assert "use_paged_context_fmha" not in target(*on_t4, SHARED).identity.build.plugin_config


def test_what_is_switched_off_by_hand_stays_so() -> None:
    off = (f"{BUILD}.plugin_config.use_paged_context_fmha", False)
    assert target(*ON_L4, off, SHARED).identity.build.plugin_config["use_paged_context_fmha"] is False
