"""The TensorRT-LLM builders against stand-in programs: process handling, manifest, translation. No TensorRT-LLM and no GPU take part."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.support.stand_in_tensorrt_llm.installation import GPU_NAMES, StandInMachine, identity, install, write_model
from vertical_engines.builders.building import build_engine
from vertical_engines.builders.protocol import Builder
from vertical_engines.builders.tensorrt_llm.engine_builder import TensorRtLlmBuilder
from vertical_engines.builders.tensorrt_llm.pytorch_builder import TensorRtLlmPyTorchBuilder
from vertical_engines.builders.tensorrt_llm.quantise import texts
from vertical_engines.cli import app
from vertical_engines.contract.build import EXIT_RETRYABLE, EXIT_USER_ERROR, REQUEST_VARIABLE, BuildRequest
from vertical_engines.contract.engine import EngineIdentity
from vertical_engines.contract.manifest import Manifest
from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.toolchains import release
from vertical_engines.failure import Failure
from vertical_engines.store.volume import VolumeStore

Build = Callable[..., Manifest]


class Site:
    """A store, a model and an installation of the stand-ins for one release."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.lines: list[str] = []
        self._environment = monkeypatch
        (folder / "store").mkdir()

    def builder(self, wanted: EngineIdentity, *, gpus: list[str] | None = None, version: str | None = None) -> Builder:
        row = release(backend=wanted.toolchain.backend, name=wanted.toolchain.release)
        assert row is not None
        programs = install(self.folder / "image", row)
        self._environment.setenv("STAND_IN_VERSION", row.versions["tensorrt_llm"])
        accelerator = wanted.accelerator
        assert accelerator is not None
        self._environment.setenv("STAND_IN_SM", "75" if accelerator.product == "Tesla-T4" else "80")
        there = [GPU_NAMES[accelerator.product]] * accelerator.count if gpus is None else gpus
        machine = StandInMachine(there, {"tensorrt_llm": version or row.versions["tensorrt_llm"], "tensorrt": row.versions["tensorrt"]})
        made = TensorRtLlmPyTorchBuilder if wanted.toolchain.backend == "TensorRTLLMPyTorch" else TensorRtLlmBuilder
        return made(machine=machine, programs=programs)

    def build(self, wanted: EngineIdentity, model: Path, *, gpus: list[str] | None = None, version: str | None = None) -> Manifest:
        request = BuildRequest(key=wanted.key(), identity=wanted)
        store = VolumeStore(self.folder / "store", say=self.lines.append)
        builder = self.builder(wanted, gpus=gpus, version=version)
        return build_engine(request, builder=builder, model=model, store=store, say=self.lines.append)

    def fail(self, fault: str) -> None:
        self._environment.setenv("STAND_IN_FAULT", fault)

    @property
    def litter(self) -> list[str]:
        scratch = self.folder / "store" / ".tmp"
        return [path.name for path in scratch.iterdir()] if scratch.is_dir() else []


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    return Site(tmp_path, monkeypatch)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model")


@pytest.mark.parametrize("name", ["24.04", "24.06", "24.07", "24.09", "25.05", "26.06"])
def test_an_engine_is_built_tried_and_described(name: str, site: Site, model: Path) -> None:
    wanted = identity(name)
    manifest = site.build(wanted, model)
    assert [file.path for file in manifest.files] == [
        "engine/config.json",
        "engine/rank0.engine",
        "tokenizer/config.json",
        "tokenizer/tokenizer.json",
    ]
    assert manifest.gpu == "NVIDIA A100-SXM4-80GB"
    row = release(backend="TensorRTLLM", name=name)
    assert row is not None
    assert manifest.versions == {part: row.versions[part] for part in ("tensorrt_llm", "tensorrt")}
    assert manifest.smoke_test is not None
    assert site.litter == []


def test_what_the_programs_say_is_passed_on_with_the_steps(site: Site, model: Path) -> None:
    site.build(identity("25.05"), model)
    text = "\n".join(site.lines)
    for words in (
        "step 1 of 2: conversion",
        "convert_checkpoint.py",
        "step 2 of 2: build of the engine",
        "(stand-in)",
        "Serializing engine",
    ):
        assert words in text


def test_an_image_without_the_scripts_is_told_from_a_fault_of_the_model(site: Site, model: Path) -> None:
    wanted = identity("24.09")
    builder = site.builder(wanted)
    source, folder = builder.check(wanted, model=model), site.folder / "made"
    folder.mkdir()
    next((site.folder / "image").rglob("llama/convert_checkpoint.py")).unlink()
    with pytest.raises(Failure) as failed:
        builder.convert(source, identity=wanted, folder=folder, say=site.lines.append)
    assert failed.value.reason is Reason.BACKEND_VERSION_MISMATCH
    assert "llama/convert_checkpoint.py" in failed.value.message


def test_several_gpus_give_one_engine_each(site: Site, model: Path) -> None:
    wanted = identity("26.06", count=2)
    builder = site.builder(wanted)
    source = builder.check(wanted, model=model)
    folder = site.folder / "made"
    folder.mkdir()
    builder.convert(source, identity=wanted, folder=folder, say=site.lines.append)
    assert sorted(path.name for path in (folder / "engine").iterdir()) == ["config.json", "rank0.engine", "rank1.engine"]


def test_a_model_with_an_encoder_becomes_two_engines_that_only_a_server_tries(site: Site, tmp_path: Path) -> None:
    manifest = site.build(identity("25.05"), write_model(tmp_path / "t5", "T5ForConditionalGeneration", torch_dtype="float32"))
    assert {file.path.split("/")[0] for file in manifest.files} == {"encoder", "decoder", "tokenizer"}
    assert manifest.smoke_test is None
    assert manifest.summary().verified is False


def test_a_t4_engine_builds_where_fused_attention_would_fail(site: Site, model: Path) -> None:
    assert site.build(identity("24.09", "Tesla-T4", paged=False), model).gpu == "Tesla T4"


FAULTS = {
    "gpu memory": (Reason.GPU_OUT_OF_MEMORY, EXIT_USER_ERROR, "max_batch_size"),
    "no kernel": (Reason.GPU_ARCH_UNSUPPORTED, EXIT_USER_ERROR, "choose a release"),
    "no driver": (Reason.GPU_RUNTIME_MISSING, EXIT_USER_ERROR, "libnvidia-ml.so.1"),
    "killed": (Reason.BUILD_OUT_OF_MEMORY, EXIT_RETRYABLE, "resources.limits.memory"),
    "full": (Reason.STORE_FULL, EXIT_RETRYABLE, "no room"),
    "secret": (Reason.BUILD_FAILED, EXIT_RETRYABLE, "exit code 7"),
    "load": (Reason.ENGINE_GPU_MISMATCH, EXIT_USER_ERROR, "8.0"),
    "mute": (Reason.VERIFICATION_FAILED, EXIT_USER_ERROR, "generated nothing"),
}


@pytest.mark.parametrize(("fault", "expected"), FAULTS.items(), ids=FAULTS.keys())
def test_every_end_of_a_program_becomes_a_reason(fault: str, expected: tuple[Reason, int, str], site: Site, model: Path) -> None:
    site.fail(fault)
    with pytest.raises(Failure) as failed:
        site.build(identity("26.06"), model)
    reason, code, words = expected
    assert (failed.value.reason, failed.value.exit_code) == (reason, code)
    assert words in failed.value.message
    assert "hf_" not in "\n".join([*failed.value.log, *site.lines])
    assert site.litter == []


def test_an_image_of_another_release_is_told_from_its_words(site: Site, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The version check is passed by an image that lies; then the program's own grammar speaks."""
    wanted = identity("24.06")
    builder = site.builder(wanted)
    monkeypatch.setenv("STAND_IN_VERSION", "0.12.0")
    source = builder.check(wanted, model=model)
    folder = site.folder / "made"
    folder.mkdir()
    with pytest.raises(Failure) as failed:
        builder.convert(source, identity=wanted, folder=folder, say=site.lines.append)
    assert failed.value.reason is Reason.UNSUPPORTED_BUILD_FLAG
    assert "--max_output_len 32" in failed.value.message


REFUSED = {
    "no driver": ({"gpus": []}, Reason.GPU_RUNTIME_MISSING, "nvidia-smi"),
    "another GPU": ({"gpus": ["Tesla T4"]}, Reason.ENGINE_GPU_MISMATCH, "Tesla T4"),
    "another version": ({"version": "0.13.0"}, Reason.BACKEND_VERSION_MISMATCH, "0.13.0"),
}


@pytest.mark.parametrize(("surroundings", "reason", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_the_machine_is_looked_at_before_anything_runs(
    surroundings: dict[str, object], reason: Reason, words: str, site: Site, model: Path
) -> None:
    with pytest.raises(Failure) as refused:
        site.build(identity("26.06"), model, **surroundings)  # type: ignore[arg-type]
    assert refused.value.reason is reason
    assert words in refused.value.message
    assert list((site.folder / "store").glob("[0-9a-f]*")) == []


def test_too_few_gpus_are_told_with_both_numbers(site: Site, model: Path) -> None:
    with pytest.raises(Failure, match="wanted for 2 GPUs, 1 are here"):
        site.build(identity("26.06", count=2), model, gpus=["NVIDIA A100-SXM4-80GB"])


def _remove(name: str) -> Callable[[Path], None]:
    return lambda model: (model / name).unlink()


MODELS: dict[str, tuple[Callable[[Path], object], Reason, str]] = {
    "no config": (_remove("config.json"), Reason.MODEL_INVALID, "no config.json"),
    "no weights": (_remove("model.safetensors"), Reason.MODEL_INVALID, "no weights"),
    "no json": (lambda model: (model / "config.json").write_text("{"), Reason.MODEL_INVALID, "not JSON"),
    "shard missing": (
        lambda model: (model / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "model-2.safetensors"}})),
        Reason.MODEL_INVALID,
        "model-2.safetensors",
    ),
    "another architecture": (
        lambda model: (model / "config.json").write_text(json.dumps({"architectures": ["WhisperModel"]})),
        Reason.MODEL_INVALID,
        "LlamaForCausalLM",
    ),
    "too long": (
        lambda model: (model / "config.json").write_text(
            json.dumps({"architectures": ["LlamaForCausalLM"], "max_position_embeddings": 256})
        ),
        Reason.UNSUPPORTED_BUILD_FLAG,
        "made for 256",
    ),
    "quantised": (
        lambda model: (model / "config.json").write_text(
            json.dumps({"architectures": ["LlamaForCausalLM"], "quantization_config": {"quant_method": "gptq"}})
        ),
        Reason.MODEL_INVALID,
        "gptq",
    ),
    "too early for it": (
        lambda model: (model / "config.json").write_text(json.dumps({"architectures": ["Qwen3ForCausalLM"]})),
        Reason.MODEL_INVALID,
        "since TensorRT-LLM 0.20",
    ),
}


@pytest.mark.parametrize(("spoil", "reason", "words"), MODELS.values(), ids=MODELS.keys())
def test_a_model_that_can_not_be_built_is_refused_with_what_was_found(
    spoil: Callable[[Path], object], reason: Reason, words: str, site: Site, model: Path
) -> None:
    spoil(model)
    with pytest.raises(Failure) as refused:
        site.build(identity("25.05"), model)
    assert refused.value.reason is reason
    assert words in refused.value.message


def test_a_checkpoint_for_the_llm_api_is_copied_with_its_arguments(site: Site, model: Path) -> None:
    manifest = site.build(identity("26.06", backend="TensorRTLLMPyTorch", weights="source"), model)
    engine = site.folder / "store" / manifest.key
    assert (engine / "checkpoint" / "model.safetensors").read_bytes() == (model / "model.safetensors").read_bytes()
    arguments = json.loads((engine / "model.yaml").read_text())
    assert (arguments["model"], arguments["backend"], arguments["dtype"]) == ("checkpoint", "pytorch", "bfloat16")
    assert (arguments["max_seq_len"], arguments["max_batch_size"], arguments["max_num_tokens"]) == (544, 8, 4096)
    assert manifest.gpu == "NVIDIA A100-SXM4-80GB"


def test_a_checkpoint_for_the_llm_api_is_quantised_when_asked_for(site: Site, model: Path) -> None:
    (model / "calibration").mkdir()
    (model / "calibration" / "reviews.txt").write_text("one text\nanother\n")
    manifest = site.build(identity("26.06", "NVIDIA-L4", backend="TensorRTLLMPyTorch", weights="fp8"), model)
    checkpoint = site.folder / "store" / manifest.key / "checkpoint"
    assert json.loads((checkpoint / "config.json").read_text())["quantization_config"] == {"quant_method": "modelopt"}
    assert (checkpoint / "tokenizer.json").is_file()
    assert "FP8_DEFAULT_CFG" in "\n".join(site.lines)


def test_texts_to_measure_scales_on_are_lines_of_text_files(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("third\n")
    (tmp_path / "a.txt").write_text("first\n\n second \n")
    (tmp_path / "c.json").write_text("no text")
    assert texts(tmp_path) == ["first", "second", "third"]
    (tmp_path / "many.txt").write_text("more\n" * 1000)
    assert len(texts(tmp_path)) == 512
    with pytest.raises(SystemExit, match="one text a line"):
        texts(tmp_path / "nowhere")


def test_a_gpt_is_built_wherever_its_folder_stands(site: Site, tmp_path: Path) -> None:
    assert site.build(identity("24.09", "Tesla-T4", paged=False), write_model(tmp_path / "poi", "GPT2LMHeadModel", n_positions=2048))


@pytest.mark.parametrize(("weights", "words"), [("int8", "fp8 or int4"), ("fp8", "calibration/")])
def test_quantisation_that_can_not_be_done_is_refused(weights: str, words: str, site: Site, model: Path) -> None:
    with pytest.raises(Failure, match=words):
        site.build(identity("26.06", "NVIDIA-L4", backend="TensorRTLLMPyTorch", weights=weights), model)


def test_a_plan_prints_commands_and_runs_nothing(model: Path, tmp_path: Path) -> None:
    wanted = identity("24.09", "Tesla-T4", paged=False)
    request = BuildRequest(key=wanted.key(), identity=wanted)
    options = ["--plan", "--model", str(model), "--store", str(tmp_path / "nowhere"), "--termination-log", str(tmp_path / "log")]
    result = CliRunner().invoke(app, ["build", *options], env={REQUEST_VARIABLE: request.to_json()})
    assert result.exit_code == 0, result.output
    assert "python3 /opt/tensorrt_llm/examples/llama/convert_checkpoint.py" in result.output
    assert f"--output_dir {tmp_path / 'nowhere' / wanted.key()}/engine" in result.output
    assert "--context_fmha disable" in result.output
    assert not (tmp_path / "nowhere").exists()


def test_a_plan_of_what_can_not_be_built_says_why(model: Path, tmp_path: Path) -> None:
    wanted = identity("26.06", "Tesla-T4")
    request = BuildRequest(key=wanted.key(), identity=wanted)
    result = CliRunner().invoke(app, ["build", "--plan", "--model", str(model)], env={REQUEST_VARIABLE: request.to_json()})
    assert result.exit_code == EXIT_USER_ERROR
    assert "GpuArchUnsupported" in result.output


def test_steps_ask_no_hub(site: Site, model: Path) -> None:
    wanted = identity("26.06")
    builder = site.builder(wanted)
    python = site.folder / "image" / "bin" / "python3"
    python.write_text(f"#!/bin/sh\nenv > {site.folder / 'seen'}\nexit 3\n")
    source, folder = builder.check(wanted, model=model), site.folder / "made"
    folder.mkdir()
    with pytest.raises(Failure):
        builder.convert(source, identity=wanted, folder=folder, say=site.lines.append)
    seen = dict(line.partition("=")[::2] for line in (site.folder / "seen").read_text().splitlines())
    assert (seen["HF_HUB_OFFLINE"], seen["TRANSFORMERS_OFFLINE"]) == ("1", "1")
    assert seen["HOME"] != os.environ.get("HOME")
