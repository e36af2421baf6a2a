"""The GPU that a pod sees against the product that its engine was built for."""

from pathlib import Path

import pytest

from tests.support.serving import make_plan
from tests.support.stand_in_builder import Workplace, engine_request
from vertical_engines.contract.engine import Accelerator
from vertical_engines.contract.manifest import Manifest
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.repository.engine_check import check_gpu, same_product, visible_gpus


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    built = Workplace(tmp_path).build(engine_request())
    return built.model_copy(update={"identity": built.identity.model_copy(update={"accelerator": Accelerator(product="NVIDIA-A30")})})


@pytest.mark.parametrize(
    ("name", "label", "same"),
    [
        ("NVIDIA A100-SXM4-40GB", "NVIDIA-A100-SXM4-40GB", True),
        ("NVIDIA A100-SXM4-40GB\n", "NVIDIA-A100-SXM4-40GB-SHARED", True),
        ("NVIDIA A100-SXM4-40GB", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", True),
        ("NVIDIA A100-SXM4-40GB", "NVIDIA-A100-SXM4-80GB", False),
        ("NVIDIA A10", "NVIDIA-A100-SXM4-40GB", False),
        ("Tesla T4", "Tesla-T4", True),
    ],
)
def test_a_drivers_name_is_compared_with_a_label(name: str, label: str, same: bool) -> None:
    assert same_product(name, label=label) is same


def test_a_pod_on_another_gpu_than_its_label_says_is_refused(manifest: Manifest) -> None:
    plan = make_plan(manifest, gpu_product="NVIDIA-A30")
    check_gpu(plan, manifest, seen=[])
    check_gpu(plan, manifest, seen=["NVIDIA A30"])
    with pytest.raises(Failure, match=r"was built for NVIDIA-A30, the GPU in this pod is Tesla T4; check the label") as caught:
        check_gpu(plan, manifest, seen=["NVIDIA A30", "Tesla T4"])
    assert caught.value.reason is Reason.ENGINE_GPU_MISMATCH


def driver(folder: Path, script: str) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_products_come_from_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    driver(tmp_path, "printf 'NVIDIA A30\\nNVIDIA A30\\n'")
    assert visible_gpus() == ["NVIDIA A30", "NVIDIA A30"]
    driver(tmp_path, "echo 'Failed to initialize NVML'; exit 9")
    with pytest.raises(Failure, match="nvidia-smi failed: Failed to initialize NVML"):
        visible_gpus()


def test_without_a_driver_nothing_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert visible_gpus() == []
