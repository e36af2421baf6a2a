"""The models behind an SLM on TensorRT-LLM: configurations of every release against golden files, and what assembling refuses.

`GOLDEN_WRITE=1` writes them anew. The configurations are rendered and parsed here; no tensorrtllm backend has loaded them.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.stand_in_tensorrt_llm.installation import identity
from vertical_engines.contract.engine import model_version
from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.serving import ServingPlan, inner_models
from vertical_engines.contract.toolchains import matrix, release
from vertical_engines.failure import Failure
from vertical_engines.models.tensorrt_llm_generator import engine_request, stop_words
from vertical_engines.models.tensorrt_llm_preprocessing import TokensResponse
from vertical_engines.models.tokenizer_files import decoder_start, end_ids
from vertical_engines.repository.generator import generator_source, inner_names, write_inner_models
from vertical_engines.repository.llmapi import served_arguments, write_llmapi_model
from vertical_engines.repository.pbtxt import parse_config, print_config
from vertical_engines.repository.tensorrt_llm import engine_models

GOLDEN = Path(__file__).parent / "golden_trtllm_config"
RELEASES = [row for row in matrix().releases if row.backend == "TensorRTLLM"]
NAMES = inner_models("generator")
PREFIX = {"prefix_caching": "true", "prefix_host_memory_bytes": "1073741824"}


def plan(name: str, *, backend: str = "TensorRTLLM", paged: bool = True) -> ServingPlan:
    wanted = identity(name, backend=backend, paged=paged)
    return ServingPlan(
        service="poi-matching",
        variant="background",
        placement="a100",
        engine_key="0" * 64,
        model_name="generator",
        model_version=model_version("0" * 64),
        entrypoint="poi_matching_bls",
        toolchain=wanted.toolchain,
        build=wanted.build,
    )


def parameters(*, paged: bool = True, folder: str = "/store/KEY", **more: str) -> dict[str, str]:
    return {"engine_dir": folder, "style": "inflight" if paged else "realtime", "prefix_caching": "false", **more}


def models(name: str, *, paged: bool = True, encoder: bool = False, **more: str) -> dict[str, Any]:
    row = release(backend="TensorRTLLM", name=name)
    assert row is not None
    return engine_models(plan(name, paged=paged), row, parameters=parameters(paged=paged, **more), encoder=encoder)


def page(name: str) -> str:
    row = release(backend="TensorRTLLM", name=name)
    assert row is not None
    found = models(name)
    sections = {f"background: {model}": config for model, config in found.items()}
    if row.serves("Static", "contiguous"):
        sections["realtime: engine"] = models(name, paged=False)[NAMES.engine]
    more = PREFIX if "kv_cache_host_memory_bytes" in row.parameters else {"prefix_caching": "true"}
    sections["prefix cache: engine"] = models(name, **more)[NAMES.engine]
    if "encoder_model_path" in row.parameters:
        sections["encoder-decoder: engine"] = models(name, encoder=True)[NAMES.engine]
    return "\n".join(f"# {title}\n{print_config(config)}" for title, config in sections.items())


@pytest.mark.parametrize("name", [row.release for row in RELEASES])
def test_configurations_of_a_release(name: str) -> None:
    text, golden = page(name), GOLDEN / f"{name}.pbtxt"
    if os.environ.get("GOLDEN_WRITE"):
        GOLDEN.mkdir(exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text()
    assert "${" not in text


@pytest.mark.parametrize("row", RELEASES, ids=lambda row: row.release)
def test_only_parameters_that_the_release_knows_are_written(row: Any) -> None:
    config = models(row.release)[NAMES.engine]
    assert set(config.parameters) - {"FORCE_CPU_ONLY_INPUT_TENSORS", "executor_worker_path"} <= set(row.parameters)
    assert parse_config(print_config(config), where="again") == config
    values = {name: value.string_value for name, value in config.parameters.items()}
    assert values["enable_kv_cache_reuse"] == "false", "its default changed in 0.19, so it is always said"
    assert values["gpt_model_path"] == "/store/KEY/engine"


def test_contiguous_is_served_by_static_batching_where_there_is_one() -> None:
    values = models("25.05", paged=False)[NAMES.engine].parameters
    assert values["gpt_model_type"].string_value == "V1"
    assert "kv_cache_free_gpu_mem_fraction" not in values
    with pytest.raises(Failure) as refused:
        models("25.06", paged=False)
    assert refused.value.reason is Reason.BATCHING_UNSUPPORTED


def test_an_encoder_is_served_where_the_backend_knows_it() -> None:
    values = models("26.06", encoder=True)[NAMES.engine].parameters
    assert (values["encoder_model_path"].string_value, values["gpt_model_path"].string_value) == (
        "/store/KEY/encoder",
        "/store/KEY/decoder",
    )
    with pytest.raises(Failure, match="encoder_model_path"):
        models("24.04", encoder=True)


def test_host_memory_for_blocks_is_refused_where_it_would_be_ignored() -> None:
    assert models("24.06", **PREFIX)[NAMES.engine].parameters["kv_cache_host_memory_bytes"].string_value == "1073741824"
    with pytest.raises(Failure, match="kv_cache_host_memory_bytes"):
        models("24.04", **PREFIX)


def test_each_backend_has_its_own_model_and_those_behind_it() -> None:
    assert "tensorrt_llm_generator" in generator_source(plan("26.06"))
    assert "llmapi_generator" in generator_source(plan("26.06", backend="TensorRTLLMPyTorch"))
    assert inner_names(plan("26.06", backend="TensorRTLLMPyTorch")) == [NAMES.engine]


def test_the_repository_is_complete(tmp_path: Path) -> None:
    wanted = plan("26.06")
    write_inner_models(wanted, parameters=parameters(folder=str(tmp_path)), repository=tmp_path)
    version = str(wanted.model_version)
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {f"{name}/config.pbtxt" for name in inner_names(wanted)} | {
        f"{NAMES.preprocessing}/{version}/model.py",
        f"{NAMES.postprocessing}/{version}/model.py",
    }
    assert (tmp_path / NAMES.engine / version).is_dir(), "Triton wants a version folder, empty as it is"


def llmapi_source(folder: Path) -> Path:
    """As NVIDIA's image has it, in small."""
    code = folder / "1"
    code.mkdir(parents=True)
    (folder / "config.pbtxt").write_text('name: "tensorrt_llm"\nbackend: "python"\n')
    for name in ("model.py", "helpers.py"):
        (code / name).write_text("# stand-in\n")
    return folder


def stored_engine(folder: Path) -> Path:
    folder.mkdir()
    (folder / "model.yaml").write_text(json.dumps({"model": "checkpoint", "backend": "pytorch", "max_batch_size": 8}))
    return folder


def test_the_llmapi_model_is_the_images_with_the_engines_arguments(tmp_path: Path) -> None:
    source, engine = llmapi_source(tmp_path / "app"), stored_engine(tmp_path / "engine")
    given = parameters(folder=str(engine), **PREFIX)
    write_llmapi_model(NAMES.engine, 7, repository=tmp_path / "repository", parameters=given, source=source)
    made = tmp_path / "repository" / NAMES.engine
    assert {path.name for path in (made / "7").iterdir()} == {"model.py", "helpers.py", "model.yaml"}
    assert f'name: "{NAMES.engine}"' in (made / "config.pbtxt").read_text()
    arguments = json.loads((made / "7" / "model.yaml").read_text())
    assert arguments["model"] == str(engine / "checkpoint")
    assert arguments["kv_cache_config"] == {"enable_block_reuse": True, "free_gpu_memory_fraction": 0.9, "host_cache_size": 1073741824}
    assert arguments["triton_config"] == {"max_batch_size": 0, "decoupled": False}


def test_without_a_prefix_cache_no_block_is_shared(tmp_path: Path) -> None:
    arguments = served_arguments(stored_engine(tmp_path / "engine"), parameters())
    assert arguments["kv_cache_config"]["enable_block_reuse"] is False


def test_an_image_without_the_model_is_told(tmp_path: Path) -> None:
    engine = stored_engine(tmp_path / "engine")
    with pytest.raises(Failure) as refused:
        write_llmapi_model("x", 1, repository=tmp_path / "r", parameters=parameters(folder=str(engine)), source=tmp_path / "nowhere")
    assert refused.value.reason is Reason.BACKEND_VERSION_MISMATCH


def test_an_engine_without_arguments_is_damaged(tmp_path: Path) -> None:
    with pytest.raises(Failure) as refused:
        served_arguments(tmp_path, parameters())
    assert refused.value.reason is Reason.ENGINE_CORRUPT


def test_several_end_tokens_become_stop_words_of_one_token() -> None:
    assert stop_words([128008, 128009]).tolist() == [[[128008, 128009], [1, 2]]]


BEHIND_ENCODERS = {
    "T5": ({"is_encoder_decoder": True, "decoder_start_token_id": 0, "pad_token_id": 0}, [0]),
    "BART": ({"is_encoder_decoder": True, "decoder_start_token_id": 2, "pad_token_id": 1}, [2]),
    "not said": ({"is_encoder_decoder": True, "pad_token_id": 1}, [1]),
    "Llama": ({"pad_token_id": 1}, []),
}


@pytest.mark.parametrize(("config", "start"), BEHIND_ENCODERS.values(), ids=BEHIND_ENCODERS.keys())
def test_a_decoder_behind_an_encoder_is_told_where_to_begin(config: dict[str, object], start: list[int], tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert decoder_start(tmp_path) == start
    request = engine_request(TokensResponse(input_ids=[5, 6], end_ids=[], pad_id=1, decoder_start=start), longest=4)
    assert (None if request.decoder_input_ids is None else request.decoder_input_ids.tolist()) == ([start] if start else None)
    assert (request.end_id.tolist(), request.request_output_len.tolist()) == ([[-1]], [[4]])


@pytest.mark.parametrize(("content", "found"), [({"eos_token_id": 2}, [2]), ({"eos_token_id": [7, 8]}, [7, 8]), ({}, [])])
def test_every_token_that_ends_a_sequence_is_found(content: dict[str, object], found: list[int], tmp_path: Path) -> None:
    (tmp_path / "generation_config.json").write_text(json.dumps(content))
    assert end_ids(tmp_path) == found
