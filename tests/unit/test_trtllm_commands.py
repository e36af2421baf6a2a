"""Command lines of conversion and build for every release, variant and class of GPU, against golden files; rendered, never run here.

`GOLDEN_WRITE=1` writes them anew.
"""

import os
import shlex
import sys
from pathlib import Path

import pytest

from tests.support.stand_in_tensorrt_llm import grammar
from tests.support.stand_in_tensorrt_llm.installation import identity, write_model
from vertical_engines.builders.tensorrt_llm.checkpoint import read_checkpoint
from vertical_engines.builders.tensorrt_llm.steps import Programs, Step, build_steps
from vertical_engines.builders.tensorrt_llm.target import build_target
from vertical_engines.contract.engine import EngineIdentity
from vertical_engines.contract.toolchains import matrix
from vertical_engines.failure import Failure

GOLDEN = Path(__file__).parent / "golden_trtllm"
RELEASES = [row.release for row in matrix().releases if row.backend == "TensorRTLLM"]
VARIANTS = {
    "realtime (contiguous)": {"paged": False},
    "background (paged)": {"paged": True},
    "prefix cache": {"paged": True, "plugins": {"use_paged_context_fmha": True}},
}
PRODUCTS = ("Tesla-T4", "NVIDIA-A100-SXM4-80GB", "NVIDIA-L4", "NVIDIA-H100-80GB-HBM3", "NVIDIA-B200")
ARCHITECTURES = {"Llama": "LlamaForCausalLM", "Qwen": "Qwen2ForCausalLM", "GPT": "GPT2LMHeadModel", "T5": "T5ForConditionalGeneration"}


def steps(wanted: EngineIdentity, model: Path) -> list[Step]:
    target = build_target(wanted, matrix=matrix())
    return build_steps(
        target, read_checkpoint(model), folder=Path("/store/KEY"), scratch=Path("/tmp/build"), programs=Programs(root=Path("/none"))
    )


def shown(wanted: EngineIdentity, model: Path) -> str:
    """Commands as the image has them, or the refusal."""
    try:
        lines = [shlex.join(step.command) for step in steps(wanted, model)]
    except Failure as failure:
        lines = [f"refused: {failure.reason.value}: {failure.message}"]
    return "".join(f"{line}\n" for line in lines).replace("/none/", "/").replace(str(model), "/model")


def page(release: str, folder: Path) -> str:
    parts = []
    llama = write_model(folder / "llama")
    for product in PRODUCTS:
        for variant, options in VARIANTS.items():
            parts.append(f"# Llama, {variant}, {product}\n{shown(identity(release, product, **options), llama)}")  # type: ignore[arg-type]
    for family, architecture in ARCHITECTURES.items():
        model = write_model(folder / family, architecture)
        parts.append(f"# {family}, background, float16, A100\n{shown(identity(release), model)}")
    for weights in ("source", "int8", "int4"):
        parts.append(f"# Llama in bfloat16, weights {weights}, A100 x 2\n{shown(identity(release, weights=weights, count=2), llama)}")
    return "\n".join(parts)


@pytest.mark.parametrize("release", RELEASES)
def test_command_lines_of_a_release(release: str, tmp_path: Path) -> None:
    text, golden = page(release, tmp_path), GOLDEN / f"{release}.txt"
    if os.environ.get("GOLDEN_WRITE"):
        GOLDEN.mkdir(exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text()


def test_there_is_a_file_for_each_release_and_no_other() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(RELEASES)


@pytest.mark.parametrize("release", RELEASES)
def test_every_release_takes_the_options_that_are_written_for_it(release: str, tmp_path: Path) -> None:
    """Against a grammar that was written down from the releases, not from the matrix that the options are made of."""
    row = matrix().release(backend="TensorRTLLM", name=release)
    assert row is not None
    parser = grammar.parser(row.versions["tensorrt_llm"])
    parsed = 0
    for line in page(release, tmp_path).splitlines():
        if line.startswith("trtllm-build "):
            assert parser.parse_args(shlex.split(line)[1:]).checkpoint_dir
            parsed += 1
    assert parsed >= 8


def options(release: str, product: str, model: Path, **more: object) -> dict[str, str]:
    *_, build = steps(identity(release, product, **more), model)  # type: ignore[arg-type]
    words = list(build.command[1:])
    return dict(zip(words[::2], words[1::2], strict=True))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model")


@pytest.mark.parametrize("release", RELEASES)
def test_lengths_are_told_in_the_releases_own_way(release: str, model: Path) -> None:
    given = options(release, "NVIDIA-A100-SXM4-80GB", model)
    early = release in ("24.04", "24.05", "24.06")
    assert (given.get("--max_output_len"), given.get("--max_seq_len")) == (("32", None) if early else (None, "544"))


@pytest.mark.parametrize("release", [name for name in RELEASES if name <= "25.05"])
def test_contiguous_is_never_no_cache_at_all(release: str, model: Path) -> None:
    given = options(release, "NVIDIA-A100-SXM4-80GB", model, paged=False)
    assert given["--paged_kv_cache"] == "disable"
    assert "--kv_cache_type" not in given


@pytest.mark.parametrize("release", [name for name in RELEASES if name <= "24.09"])
def test_a_t4_gets_float16_without_fused_attention(release: str, model: Path) -> None:
    for weights in ("float16", "source"):
        given = options(release, "Tesla-T4", model, weights=weights)
        assert (given["--context_fmha"], given["--use_paged_context_fmha"], given["--gpt_attention_plugin"]) == (
            "disable",
            "disable",
            "float16",
        )
        conversion = steps(identity(release, "Tesla-T4", weights=weights), model)[0].command
        assert conversion[conversion.index("--dtype") + 1] == "float16"


def test_a_prefix_cache_gets_paged_context_attention_and_small_blocks(model: Path) -> None:
    given = options("26.06", "NVIDIA-L4", model, plugins={"use_paged_context_fmha": True})
    assert (given["--use_paged_context_fmha"], given["--tokens_per_block"]) == ("enable", "32")
    without = options("26.06", "NVIDIA-L4", model)
    assert (without["--use_paged_context_fmha"], without["--tokens_per_block"]) == ("disable", "64")


REFUSED = {
    "unknown key": ({"gemm_plugn": "auto"}, {}, "UnsupportedBuildFlag", "did you mean gemm_plugin?"),
    "key of another release": ({"reduce_fusion": True}, {"release": "24.06"}, "UnsupportedBuildFlag", "has no such key"),
    "value": ({"tokens_per_block": 48}, {}, "UnsupportedBuildFlag", "power of two"),
    "no cache at all": ({"kv_cache_type": "disabled"}, {}, "BuildFlagConflict", "paged_kv_cache: false"),
    "two layouts": ({"kv_cache_type": "continuous"}, {}, "BuildFlagConflict", "remove kv_cache_type"),
    "fused attention on T4": ({"context_fmha": True}, {"product": "Tesla-T4", "release": "24.09"}, "GpuFeatureUnsupported", "context_fmha"),
    "prefix cache on T4": (
        {"use_paged_context_fmha": True},
        {"product": "Tesla-T4", "release": "24.09"},
        "PrefixCacheUnavailable",
        "prefixCache",
    ),
    "prefix cache on contiguous": (
        {"use_paged_context_fmha": True},
        {"release": "24.12", "paged": False},
        "PrefixCacheUnavailable",
        "paged KV",
    ),
    "int8 cache shared": ({"use_paged_context_fmha": True, "int8_kv_cache": True}, {}, "BuildFlagConflict", "int8_kv_cache"),
    "profiles": ({"multiple_profiles": True}, {"opt_num_tokens": 64}, "BuildFlagConflict", "opt_num_tokens"),
    "contiguous on a late release": ({}, {"paged": False}, "KvCacheBatchingConflict", "older release"),
    "bfloat16 on T4": ({}, {"product": "Tesla-T4", "release": "24.09", "weights": "bfloat16"}, "DtypeUnsupported", "float16"),
    "T4 on a late release": ({}, {"product": "Tesla-T4"}, "GpuArchUnsupported", "24.09"),
    "unknown release": ({}, {"release": "19.01"}, "UnknownToolchain", "24.04"),
    "float8 without texts": ({}, {"weights": "fp8", "product": "NVIDIA-L4"}, "ModelInvalid", "calibration/"),
}


@pytest.mark.parametrize(("plugins", "more", "reason", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_what_can_not_be_built_is_refused_before_anything_runs(
    plugins: dict[str, object], more: dict[str, object], reason: str, words: str, model: Path
) -> None:
    with pytest.raises(Failure) as refused:
        steps(identity(**{"release": "26.06", "plugins": plugins, **more}), model)  # type: ignore[arg-type]
    assert refused.value.reason.value == reason
    assert words in refused.value.message


def test_switches_and_words_of_plugin_config_are_both_taken(model: Path) -> None:
    given = options("25.05", "NVIDIA-L4", model, plugins={"reduce_fusion": "enable", "gemm_plugin": False, "enable_xqa": None})
    assert (given["--reduce_fusion"], given["--gemm_plugin"]) == ("enable", "disable")
    assert "--enable_xqa" not in given


def test_a_plugin_config_copied_from_an_engine_is_let_through(model: Path) -> None:
    given = options("25.05", "NVIDIA-L4", model, plugins={"dtype": "float16", "quantize_tensor_plugin": False})
    assert "--dtype" not in given


def test_the_python_that_runs_scripts_is_the_images(model: Path) -> None:
    assert steps(identity("26.06"), model)[0].command[0] == "python3" != sys.executable
