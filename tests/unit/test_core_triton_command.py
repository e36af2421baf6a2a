"""Triton's command line by backend and number of GPUs."""

from typing import Any

from tests.support.objects import BUILD, VARIANT, service
from vertical_operator.api.v1alpha1 import VerticalService, parse
from vertical_operator.core.identity import Target, targets
from vertical_operator.core.render.triton import command, triton
from vertical_operator.core.settings import OperatorSettings

PLACEMENT = f"{VARIANT}.placements.0"


def words(backend: str, *, count: int, **more: Any) -> list[str]:
    changes = [
        ("spec.toolchain", {"backend": backend, "release": "26.06"}),
        (f"{PLACEMENT}.accelerator", {"product": "NVIDIA-L4", "count": count}),
        (f"{BUILD}.plugin_config.paged_kv_cache", True),
    ]
    found = targets(parse(VerticalService, service(*changes, *more.items())), OperatorSettings())[0]
    assert isinstance(found, Target)
    return command(found)


def test_one_gpu_is_one_server() -> None:
    (server, *options) = words("TensorRTLLM", count=1)
    assert server == "/opt/tritonserver/bin/tritonserver"
    assert "--disable-auto-complete-config" in options


def test_an_engine_of_several_gpus_is_a_server_a_gpu_under_mpirun() -> None:
    found = words("TensorRTLLM", count=3)
    assert found[:3] == ["mpirun", "--bind-to", "none"]
    ranks = " ".join(found[3:]).split(" : ")
    assert [rank.split()[:3] for rank in ranks] == [["-n", "1", "/opt/tritonserver/bin/tritonserver"]] * 3
    assert "--load-model" not in ranks[0]
    assert all("--model-control-mode=explicit --load-model=generator_tensorrt_llm" in rank for rank in ranks[1:])
    regions = {word for rank in ranks for word in rank.split() if "shm-region-prefix-name" in word}
    assert len(regions) == 3, "shared memory of one rank must not be another's"


def test_the_llm_api_completes_its_configuration_and_starts_its_own_processes() -> None:
    found = words("TensorRTLLMPyTorch", count=2)
    assert found[0] == "/opt/tritonserver/bin/tritonserver"
    assert "--disable-auto-complete-config" not in found


def test_only_where_the_cause_would_be_out_of_reach_somebody_reads_along() -> None:
    def first(*changes: tuple[str, Any]) -> list[str]:
        found = targets(parse(VerticalService, service(*changes)), OperatorSettings())[0]
        assert isinstance(found, Target)
        words: list[str] = triton(found, start_deadline=60)["command"]
        return words[3:6]

    gpu = [("spec.toolchain", {"backend": "TensorRTLLM", "release": "24.09"}), (f"{PLACEMENT}.accelerator", {"product": "Tesla-T4"})]
    assert first(*gpu) == ["vertical-engines", "serve", "--"]
    assert first()[0] == "/opt/tritonserver/bin/tritonserver"
