"""What people get wrong, on the real cluster: each ends Stalled with a reason and a message that helps, and heals when it is corrected."""

from typing import Any

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.faults import small_volume
from tests.cluster.operator_install import NAMESPACE as OPERATOR_NAMESPACE
from tests.cluster.operator_install import operator_pod
from tests.cluster.services import KIND, await_reason, await_serving, example, only_realtime

NAME = "poi-matching"


def realtime(change: Any) -> Any:
    """The example with one variant and one more change."""

    def both(spec: Any) -> None:
        only_realtime(spec)
        change(spec)

    return example("poi-matching-cpu", change=both)


def test_model_path_that_does_not_exist_heals_when_corrected(operator: Cluster, namespace: str) -> None:
    wrong = realtime(lambda spec: spec["model"]["source"]["image"].update(path="/models/smollm3"))
    operator.apply(wrong, namespace=namespace)
    seen = await_reason(operator, KIND, NAME, namespace=namespace, condition="Stalled", reason="ModelNotFound")
    assert "/models/smollm3" in seen["message"]
    assert "smollm2-135m-instruct" in seen["message"], "it lists what is there"
    operator.apply(example("poi-matching-cpu", change=only_realtime), namespace=namespace)
    await_serving(operator, NAME, namespace=namespace)
    engines = operator.objects("engines", namespace=namespace)
    assert len(engines) == 1, "the engine that could not be built is let go"


def test_file_that_is_no_model(operator: Cluster, namespace: str) -> None:
    def encoder_as_model(spec: Any) -> None:
        spec["model"]["source"]["image"] = {"reference": "vertical-poi-matching:dev", "path": "/models/poi_matching_bls"}

    operator.apply(realtime(encoder_as_model), namespace=namespace)
    seen = await_reason(operator, KIND, NAME, namespace=namespace, condition="Stalled", reason="ModelInvalid")
    assert "config.pbtxt" in seen["message"], "it says what was found"


def test_full_store(operator: Cluster, namespace: str) -> None:
    with small_volume(operator, namespace=namespace, claim="small", size="32Mi"):
        full = realtime(lambda spec: spec.update(engineStore={"persistentVolumeClaim": {"claimName": "small"}}))
        operator.apply(full, namespace=namespace)
        seen = await_reason(operator, KIND, NAME, namespace=namespace, condition="Stalled", reason="StoreFull", timeout=240)
        assert "small" in seen["message"] or "store" in seen["message"].lower()
        operator.delete(KIND, NAME, namespace=namespace)


def test_claim_that_does_not_exist_is_named_while_waiting(operator: Cluster, namespace: str) -> None:
    operator.apply(realtime(lambda spec: spec.update(engineStore={"persistentVolumeClaim": {"claimName": "nowhere"}})), namespace=namespace)
    seen = await_reason(operator, KIND, NAME, namespace=namespace, condition="Reconciling", reason="WaitingForStore")
    assert "nowhere" in seen["message"]


@pytest.mark.parametrize("part", ["model", "pipeline"])
def test_image_that_cannot_be_pulled(operator: Cluster, namespace: str, part: str) -> None:
    def wrong(spec: Any) -> None:
        image = spec["model"]["source"]["image"] if part == "model" else spec["pipeline"]["image"]
        image["reference"] = "registry.invalid/missing:1"

    operator.apply(realtime(wrong), namespace=namespace)
    seen = await_reason(operator, KIND, NAME, namespace=namespace, condition="Reconciling", reason="ImageUnavailable", timeout=240)
    assert "registry.invalid/missing:1" in seen["message"]
    operator.apply(example("poi-matching-cpu", change=only_realtime), namespace=namespace)
    await_serving(operator, NAME, namespace=namespace)


def test_pipeline_without_the_entry_model(operator: Cluster, namespace: str) -> None:
    operator.apply(realtime(lambda spec: spec["pipeline"].update(entrypoint="no_such_model")), namespace=namespace)
    seen = await_reason(operator, KIND, NAME, namespace=namespace, condition="Stalled", reason="PipelineInvalid", timeout=300)
    assert "no_such_model" in seen["message"]
    assert "poi_matching_bls" in seen["message"], "it lists what is there"


def test_gpu_product_that_no_node_has(operator: Cluster, gpu_nodes: list[str], namespace: str) -> None:
    def on_gpu(spec: Any) -> None:
        spec["toolchain"] = {"backend": "TensorRTLLM", "release": "24.09"}
        spec["variants"][0]["placements"][0]["accelerator"] = {"product": "NVIDIA-L40S"}

    operator.apply(realtime(on_gpu), namespace=namespace)
    seen = await_reason(operator, KIND, NAME, namespace=namespace, condition="Stalled", reason="NoMatchingGPU")
    assert "NVIDIA-L40S" in seen["message"]
    assert "Tesla-T4" in seen["message"], "it names the products that exist"


def test_plugin_value_with_fields_is_reported_by_the_operator(operator: Cluster, namespace: str) -> None:
    """The schema lets any plugin value through; the operator says what is wrong, and goes on with other objects."""
    operator.apply(
        realtime(lambda spec: spec["variants"][0]["buildConfig"]["plugin_config"].update(gemm_plugin={"a": 1})), namespace=namespace
    )
    seen = await_reason(operator, KIND, NAME, namespace=namespace, condition="Stalled", reason="InvalidSpec")
    assert "gemm_plugin" in seen["message"]


def test_child_name_taken_by_somebody_else(operator: Cluster, namespace: str) -> None:
    spec = {"selector": {"app": "theirs"}, "ports": [{"port": 80}]}
    theirs = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": f"{NAME}-realtime"}, "spec": spec}
    operator.apply(theirs, namespace=namespace)
    operator.apply(example("poi-matching-cpu", change=only_realtime), namespace=namespace)
    seen = await_reason(operator, KIND, NAME, namespace=namespace, condition="Stalled", reason="NotOwned")
    assert f"{NAME}-realtime" in seen["message"]
    assert operator.the("service", f"{NAME}-realtime", namespace=namespace)["spec"]["selector"] == {"app": "theirs"}
    operator.delete("service", f"{NAME}-realtime", namespace=namespace)
    await_serving(operator, NAME, namespace=namespace)


def test_operator_never_restarted(operator: Cluster) -> None:
    """After everything above: no bad input ended its process."""
    pod = operator.the("pod", operator_pod(operator), namespace=OPERATOR_NAMESPACE)
    assert pod["status"]["containerStatuses"][0]["restartCount"] == 0
