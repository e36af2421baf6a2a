"""The compatibility matrix: what releases, flags, parameters and GPUs it knows, and how it is asked."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from vertical_engines.contract.flags import FlagHistory
from vertical_engines.contract.toolchains import Release, architecture, gpu, matrix, release, releases
from vertical_engines.contract.versions import Version


def row(name: str, backend: str = "TensorRTLLM") -> Release:
    found = release(backend=backend, name=name)
    assert found
    return found


IN_ORDER = [
    "0.9",
    "0.9.1",
    "0.13.0.dev2024081300",
    "0.13.0",
    "0.17.0",
    "0.17.0.post1",
    "1.0.0",
    "1.0.3.2510",
    "1.3.0rc9",
    "1.3.0rc20",
    "1.3",
]


def test_versions_compare_as_their_makers_mean_them() -> None:
    assert sorted(sorted(IN_ORDER), key=Version.of) == IN_ORDER
    assert Version.of("0.12") == Version.of("0.12.0")


@pytest.mark.parametrize("text", ["", "13", "v0.13.0", "0.13.0-rc1", "0.13.0.1.2"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no version"):
        Version.of(text)


SINCE_AND_UNTIL = [
    ("max_output_len", ["24.04", "24.06", "24.07"], ["24.08", "24.09", "26.06"]),
    ("max_seq_len", ["24.07", "24.08", "26.06"], ["24.04", "24.06"]),
    ("kv_cache_type", ["24.09", "25.05", "26.06"], ["24.04", "24.07", "24.08"]),
    ("paged_kv_cache", ["24.04", "24.09", "26.06"], []),
    ("tp_size", ["24.07"], ["24.08"]),
    ("fast_build", ["24.08", "26.06"], ["24.07"]),
    ("monitor_memory", ["24.11"], ["24.10"]),
    ("enable_xqa", ["24.11"], ["24.12"]),
    ("lookup_plugin", ["24.10"], ["24.11"]),
    ("auto_parallel", ["26.02"], ["26.03"]),
    ("use_custom_all_reduce", ["24.07"], ["24.08"]),
    ("weight_streaming", ["24.06"], ["24.04"]),
]


@pytest.mark.parametrize(("flag", "known", "unknown"), SINCE_AND_UNTIL, ids=[entry[0] for entry in SINCE_AND_UNTIL])
def test_flags_come_and_go(flag: str, known: list[str], unknown: list[str]) -> None:
    assert [name for name in known if not row(name).knows(flag)] == []
    assert [name for name in unknown if row(name).knows(flag)] == []


DEFAULTS = [
    ("max_batch_size", {"24.04": 1, "24.06": 1, "24.07": 256, "24.09": 256, "24.10": 2048, "26.06": 2048}),
    ("max_num_tokens", {"24.06": None, "24.07": 8192, "26.06": 8192}),
    ("tokens_per_block", {"24.05": 128, "24.06": 64, "25.05": 64, "25.09": 32}),
    ("use_paged_context_fmha", {"24.04": "disable", "25.05": "disable", "25.09": "enable"}),
    ("gpt_attention_plugin", {"24.06": "float16", "24.07": "auto"}),
]


@pytest.mark.parametrize(("flag", "defaults"), DEFAULTS, ids=[entry[0] for entry in DEFAULTS])
def test_defaults_of_a_release(flag: str, defaults: dict[str, Any]) -> None:
    assert {name: row(name).flags[flag].default for name in defaults} == defaults


def test_what_is_old_says_what_to_use_instead() -> None:
    assert row("24.08").flags["paged_kv_cache"].deprecated is None
    assert row("24.09").flags["paged_kv_cache"].deprecated == "kv_cache_type"
    assert row("24.07").flags["max_output_len"].deprecated == "max_seq_len"


def test_a_default_whose_version_is_not_known_for_sure_has_to_be_given() -> None:
    assert [row(name).flags["tokens_per_block"].explicit for name in ("24.09", "25.03", "26.06")] == [False, True, True]


OBJECTIONS = [
    ("tokens_per_block", 48, "power of two"),
    ("tokens_per_block", 64, None),
    ("tokens_per_block", True, "whole number"),
    ("max_batch_size", 0, "1 or more"),
    ("max_batch_size", 1.5, "whole number"),
    ("gemm_plugin", "bf16", "one of auto"),
    ("gemm_plugin", "bfloat16", None),
    ("kv_cache_type", "PAGED", None),
    ("context_fmha", "disable", None),
    ("context_fmha", False, None),
    ("context_fmha", "off", "true or false"),
    ("log_level", "anything", None),
]


@pytest.mark.parametrize(("flag", "value", "words"), OBJECTIONS, ids=str)
def test_values_are_held_against_choices_and_limits(flag: str, value: Any, words: str | None) -> None:
    found = row("24.09").flags[flag].objection(value)
    assert (found is None) if words is None else (found is not None and words in found)


def test_parameters_of_the_serving_model_follow_the_release_too() -> None:
    assert row("25.04").parameters["enable_kv_cache_reuse"].default is False
    assert row("25.05").parameters["enable_kv_cache_reuse"].default is True
    assert "v1" in row("25.05").parameters["gpt_model_type"].choices
    assert "v1" not in row("25.06").parameters["gpt_model_type"].choices
    assert [name for name, spec in row("25.01").parameters.items() if spec.mandatory and name not in row("24.11").parameters] == [
        "logits_datatype"
    ]


def test_contiguous_layout_ends_with_static_batching() -> None:
    assert row("25.05").serves("Static", "contiguous")
    assert not row("25.06").serves("Static", "contiguous")
    assert not row("25.05").serves("InFlight", "contiguous")
    assert all(entry.serves("InFlight", "paged") for entry in releases())


ARCHITECTURES = [
    (70, "24.10", "24.11"),
    (75, "24.09", "24.10"),
]


@pytest.mark.parametrize(("sm", "last", "first_without"), ARCHITECTURES)
def test_old_architectures_have_a_last_release(sm: int, last: str, first_without: str) -> None:
    assert row(last).runs_on(sm)
    assert not row(first_without).runs_on(sm)


@pytest.mark.parametrize(("sm", "first"), [(80, "24.04"), (90, "24.04"), (100, "25.01"), (121, "25.09"), (103, "25.12")])
def test_new_architectures_have_a_first_release(sm: int, first: str) -> None:
    names = [entry.release for entry in releases() if entry.backend == "TensorRTLLM"]
    assert [name for name in names if row(name).runs_on(sm)] == names[names.index(first) :]


def test_parts_and_shares_of_a_gpu_are_told_from_their_label() -> None:
    whole, part, shared = (gpu(f"NVIDIA-A100-SXM4-80GB{suffix}") for suffix in ("", "-MIG-1g.10gb", "-SHARED"))
    assert whole
    assert part
    assert (part.sm, part.memory) == (80, 10_000)
    assert shared == whole
    assert gpu("NVIDIA-A100-SXM4-80GB-MIG-2g.20gb.me-SHARED") is not None
    assert gpu("Voodoo-2") is None


def test_number_types_of_an_architecture() -> None:
    assert "bfloat16" not in architecture(75).dtypes
    assert "bfloat16" in architecture(80).dtypes
    assert ["fp8" in architecture(sm).dtypes for sm in (86, 89, 90)] == [False, True, True]
    assert not architecture(75).context_fmha


def test_every_architecture_that_a_release_or_a_gpu_names_is_described() -> None:
    described = set(matrix().file.architectures)
    assert {entry.sm for entry in matrix().file.gpus.values()} <= described
    assert all(any(found.runs_on(sm) for sm in described) for found in releases() if not found.cpu_only)


def test_each_row_is_one_release_and_they_stand_in_order() -> None:
    for backend in ("TensorRTLLM", "TensorRTLLMPyTorch", "OpenVINO"):
        names = matrix().release_names(backend)
        assert names == sorted(set(names))
        assert names
    versions = [entry.version for entry in releases() if entry.backend == "TensorRTLLM"]
    assert versions == sorted(versions)


def test_the_pytorch_flow_goes_beyond_the_last_release_with_engines() -> None:
    assert release(backend="TensorRTLLM", name="26.07") is None
    assert row("26.07", "TensorRTLLMPyTorch").tensorrt_llm == Version.of("1.2.1")


@pytest.mark.parametrize(
    "broken",
    [
        {"since": "zero", "name": "a", "kind": "integer"},
        {"since": "0.9", "name": "a", "kind": "number of things"},
        {"since": "0.9", "name": "a", "kind": "integer", "changes": {"0.11": {"defualt": 1}}},
        {"since": "0.9", "name": "a", "kind": "integer", "changes": {"next": {"default": 1}}},
    ],
    ids=json.dumps,
)
def test_a_history_that_makes_no_sense_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        FlagHistory.model_validate(broken)


def test_options_of_the_build_are_told_from_those_of_the_conversion() -> None:
    steps = {name: flag.step for name, flag in row("24.09").flags.items()}
    assert steps["max_batch_size"] == steps["gemm_plugin"] == "build"
    assert steps["int8_kv_cache"] == "conversion"
    assert steps["smooth_quant_gemm_plugin"] == "automatic", "a plugin_config copied from an engine holds it"
