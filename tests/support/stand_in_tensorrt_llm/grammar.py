"""Options of the stand-in `trtllm-build` by version, written down from the releases' own sources, not from the product's matrix.

Standard library only: the stand-in runs it as a program.
"""

import argparse

Row = tuple[str, str, str | None, str]
"""Name, first version, first version without it, kind: a type, `switch`, `plugin` (data type or disable) or `flag`."""

ROWS: tuple[Row, ...] = (
    ("checkpoint_dir", "0.9", None, "text"),
    ("model_config", "0.9", None, "text"),
    ("build_config", "0.9", None, "text"),
    ("output_dir", "0.9", None, "text"),
    ("workers", "0.9", None, "number"),
    ("max_batch_size", "0.9", None, "number"),
    ("max_input_len", "0.9", None, "number"),
    ("max_output_len", "0.9", "0.12", "number"),
    ("max_seq_len", "0.11", None, "number"),
    ("max_num_tokens", "0.9", None, "number"),
    ("opt_num_tokens", "0.9", None, "number"),
    ("max_beam_width", "0.9", None, "number"),
    ("max_encoder_input_len", "0.10", None, "number"),
    ("paged_kv_cache", "0.9", None, "switch"),
    ("kv_cache_type", "0.13", None, "layout"),
    ("remove_input_padding", "0.9", None, "switch"),
    ("context_fmha", "0.9", None, "switch"),
    ("use_paged_context_fmha", "0.9", None, "switch"),
    ("use_fp8_context_fmha", "0.9", None, "switch"),
    ("tokens_per_block", "0.9", None, "number"),
    ("gemm_plugin", "0.9", None, "plugin"),
    ("gpt_attention_plugin", "0.9", None, "plugin"),
    ("bert_attention_plugin", "0.9", None, "plugin"),
    ("multiple_profiles", "0.9", None, "switch"),
    ("reduce_fusion", "0.11", None, "switch"),
    ("use_custom_all_reduce", "0.9", "0.12", "switch"),
    ("multi_block_mode", "0.9", "0.12", "switch"),
    ("tp_size", "0.9", "0.12", "number"),
    ("pp_size", "0.9", "0.12", "number"),
    ("auto_parallel", "0.9", "1.2", "number"),
    ("strongly_typed", "0.9", "0.11", "flag"),
    ("builder_opt", "0.9", "0.14", "number"),
    ("weight_streaming", "0.10", None, "flag"),
    ("strip_plan", "0.10", None, "flag"),
    ("fast_build", "0.12", None, "flag"),
    ("monitor_memory", "0.15", None, "flag"),
    ("lookup_plugin", "0.9", "0.15", "plugin"),
    ("enable_xqa", "0.9", "0.16", "switch"),
    ("output_timing_cache", "0.9", None, "text"),
    ("input_timing_cache", "0.9", None, "text"),
    ("log_level", "0.9", None, "text"),
)


def numbers(version: str) -> tuple[int, ...]:
    """`0.17.0.post1` as (0, 17): a minor version decides."""
    major, minor, *_ = version.split(".")
    return int(major), int(minor)


def parser(version: str) -> argparse.ArgumentParser:
    """The parser of one version. No abbreviations are written by anybody, so that they need not be known."""
    made = argparse.ArgumentParser(prog="trtllm-build")
    here = numbers(version)
    for name, since, until, kind in ROWS:
        if numbers(since) <= here and (until is None or here < numbers(until)):
            _add(made, f"--{name}", kind, here=here)
    return made


def _add(made: argparse.ArgumentParser, option: str, kind: str, *, here: tuple[int, ...]) -> None:
    if kind == "flag":
        made.add_argument(option, action="store_true")
    elif kind == "number":
        made.add_argument(option, type=int)
    elif kind == "switch":
        made.add_argument(option, choices=["enable", "disable"])
    elif kind == "layout":
        made.add_argument(option, type=str.lower, choices=["continuous", "paged", "disabled"])
    elif kind == "plugin":
        automatic = ["auto"] if here >= (0, 10) else []
        made.add_argument(option, choices=[*automatic, "float16", "float32", "bfloat16", "disable"])
    else:
        made.add_argument(option)
