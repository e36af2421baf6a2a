"""The SLM's part of the model repository: its own model and, on TensorRT-LLM, the ones behind it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.serving import ServingPlan, inner_models
from vertical_engines.failure import Failure
from vertical_engines.repository.llmapi import write_llmapi_model
from vertical_engines.repository.pbtxt import print_config
from vertical_engines.repository.tensorrt_llm import engine_models, has_encoder

CONFIG_FILE = "config.pbtxt"
SOURCE = '''"""{what}: its code is in the runtime image."""
from vertical_engines.models.{module} import TritonPythonModel
__all__ = ["TritonPythonModel"]
'''
MODULES = {"OpenVINO": "openvino_generator", "TensorRTLLM": "tensorrt_llm_generator", "TensorRTLLMPyTorch": "llmapi_generator"}
INNER_MODULES = {"preprocessing": "tensorrt_llm_preprocessing", "postprocessing": "tensorrt_llm_postprocessing"}


def generator_source(plan: ServingPlan) -> str:
    """model.py of the SLM."""
    return SOURCE.format(what="The SLM", module=MODULES[plan.toolchain.backend])


def inner_names(plan: ServingPlan) -> list[str]:
    """Models that stand behind the SLM; none where its own model does everything."""
    names = inner_models(plan.model_name)
    return {
        "TensorRTLLM": [names.preprocessing, names.engine, names.postprocessing],
        "TensorRTLLMPyTorch": [names.engine],
    }.get(plan.toolchain.backend, [])


def write_inner_models(plan: ServingPlan, *, parameters: Mapping[str, str], repository: Path) -> None:
    """`parameters` are those of the SLM's own configuration. Raises Failure."""
    names = inner_models(plan.model_name)
    if plan.toolchain.backend == "TensorRTLLMPyTorch":
        write_llmapi_model(names.engine, plan.model_version, repository=repository, parameters=parameters)
    if plan.toolchain.backend != "TensorRTLLM":
        return
    row = plan.release
    if row is None:
        raise Failure(Reason.UNKNOWN_TOOLCHAIN, f"this image knows no {plan.toolchain.backend} {plan.toolchain.release}")
    encoder = has_encoder(Path(parameters["engine_dir"]))
    for name, config in engine_models(plan, row, parameters=parameters, encoder=encoder).items():
        _write(repository / name, plan.model_version, config)
    for kind, module in INNER_MODULES.items():
        code = SOURCE.format(what=f"The SLM's {kind}", module=module)
        (repository / f"{plan.model_name}_{kind}" / str(plan.model_version) / "model.py").write_text(code, encoding="utf-8")


def _write(folder: Path, version: int, config: Any) -> None:
    (folder / str(version)).mkdir(parents=True)
    (folder / CONFIG_FILE).write_text(print_config(config), encoding="utf-8")
