"""Options of `trtllm-build`: explicit, from what the release knows, with the user's plugin_config on top."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from vertical_engines.builders.tensorrt_llm.target import BuildTarget
from vertical_engines.contract.engine import BuildFlags
from vertical_engines.contract.flags import FlagSpec
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure

Options = dict[str, str | None]
"""Name to value in the order of the command line; None for an option without a value."""

LAYOUT = ("paged_kv_cache", "kv_cache_type")
"""Told by the KV layout of the request, in the one spelling that every release takes."""

SHARED_BLOCK = 32
"""Tokens of a KV block where blocks are shared between requests: whole blocks only are, so small ones share more."""

PLAIN_BLOCK = 64


def command_line(options: Options) -> list[str]:
    return [part for name, value in options.items() for part in ([f"--{name}"] if value is None else [f"--{name}", value])]


def decoder_options(target: BuildTarget, *, dtype: str, fused_attention: bool = True) -> Options:
    """`fused_attention`: whether the model's attention is one that the fused kernels know. Raises Failure about a key of plugin_config."""
    build = target.identity.build
    plugins = _plugins(target, dtype=dtype, fused=fused_attention) | given_plugins(target, dtype=dtype)
    _check_attention(target, plugins)
    return {**lengths(target, max_input_len=build.max_input_len, max_output_len=build.max_output_len), **plugins}


def lengths(target: BuildTarget, *, max_input_len: int, max_output_len: int) -> Options:
    """The limits. Releases that don't know max_seq_len are told the answer's length, the others prompt and answer together."""
    build, known = target.identity.build, target.release.flags
    both = max_input_len + max_output_len
    answer = {"max_seq_len": str(both)} if "max_seq_len" in known else {"max_output_len": str(max_output_len)}
    tokens = build.max_num_tokens
    default = known["max_num_tokens"].default if "max_num_tokens" in known else None
    if tokens is None and isinstance(default, int) and default < max_input_len:
        # Without chunked context a prompt has to fit into one step.
        tokens = max_input_len
    return {
        "max_batch_size": str(build.max_batch_size),
        "max_beam_width": str(build.max_beam_width),
        "max_input_len": str(max_input_len),
        **answer,
        **({"max_num_tokens": str(tokens)} if tokens else {}),
        **({"opt_num_tokens": str(build.opt_num_tokens)} if build.opt_num_tokens else {}),
    }


def given_plugins(target: BuildTarget, *, dtype: str) -> Options:
    """The keys of plugin_config that are options of `trtllm-build`."""
    build = target.identity.build
    _check_layout(build)
    options: Options = {}
    for name, value in sorted(build.plugin_config.items()):
        if name in LAYOUT or value is None:
            continue
        spec = target.release.flags.get(name)
        if spec is None or not spec.plugin:
            raise _unknown(target, name)
        if spec.step != "build":
            continue
        options |= _option(target, spec, value=value, dtype=dtype)
    return options


def wants(build: BuildFlags, name: str) -> bool:
    """Whether a switch of plugin_config is on."""
    return build.plugin_config.get(name) in (True, "enable")


def _plugins(target: BuildTarget, *, dtype: str, fused: bool) -> Options:
    build, known = target.identity.build, target.release.flags
    fused = fused and target.architecture.context_fmha
    shared = wants(build, "use_paged_context_fmha")
    wanted: Options = {
        "paged_kv_cache": "enable" if build.kv_layout == "paged" else "disable",
        "remove_input_padding": "enable",
        "context_fmha": "enable" if fused else "disable",
        "use_paged_context_fmha": "disable",
        "gpt_attention_plugin": dtype,
        "gemm_plugin": _automatic(known["gemm_plugin"], dtype=dtype),
    }
    if _explicit(known, "tokens_per_block") or shared:
        wanted["tokens_per_block"] = str(SHARED_BLOCK if shared else PLAIN_BLOCK)
    if _explicit(known, "use_fp8_context_fmha"):
        wanted["use_fp8_context_fmha"] = "disable"
    return wanted


def _explicit(known: Mapping[str, FlagSpec], name: str) -> bool:
    return name in known and known[name].explicit


def _automatic(spec: FlagSpec, *, dtype: str) -> str:
    """`auto` where the release has it, since it follows the checkpoint."""
    return "auto" if "auto" in spec.choices else dtype


def _option(target: BuildTarget, spec: FlagSpec, *, value: Any, dtype: str) -> Options:
    if spec.kind == "present":
        return {spec.name: None} if value in (True, "enable") else {}
    if isinstance(value, bool) and spec.kind == "choice":
        value = _automatic(spec, dtype=dtype) if value else "disable"
    if objection := spec.objection(value):
        raise Failure(Reason.UNSUPPORTED_BUILD_FLAG, f"{target.where}: plugin_config.{spec.name} is {value}; it {objection}")
    if isinstance(value, bool):
        value = "enable" if value else "disable"
    return {spec.name: str(value)}


def _check_layout(build: BuildFlags) -> None:
    asked = str(build.plugin_config.get("kv_cache_type") or "").lower().removeprefix("kvcachetype.")
    if asked == "disabled":
        raise Failure(
            Reason.BUILD_FLAG_CONFLICT,
            "plugin_config.kv_cache_type disabled means no KV cache at all, with which nothing can be generated: for a contiguous one "
            "set paged_kv_cache: false",
        )
    if asked and asked != {"paged": "paged", "contiguous": "continuous"}[build.kv_layout]:
        raise Failure(
            Reason.BUILD_FLAG_CONFLICT,
            f"plugin_config.kv_cache_type is {asked}, and paged_kv_cache makes it {build.kv_layout}: remove kv_cache_type",
        )


def _check_attention(target: BuildTarget, options: Options) -> None:
    fused, shared = options.get("context_fmha") == "enable", options.get("use_paged_context_fmha") == "enable"
    if fused and not target.architecture.context_fmha:
        raise Failure(
            Reason.GPU_FEATURE_UNSUPPORTED,
            f"{target.product} has no fused context attention: remove plugin_config.context_fmha, so that it is built without",
        )
    if shared and not (fused and target.identity.build.kv_layout == "paged"):
        raise Failure(
            Reason.PREFIX_CACHE_UNAVAILABLE,
            f"{target.where}: the prefix cache (use_paged_context_fmha) needs fused context attention and a paged KV cache: remove "
            "prefixCache, or use a newer GPU and paged_kv_cache: true",
        )
    if shared and wants(target.identity.build, "int8_kv_cache"):
        raise Failure(
            Reason.BUILD_FLAG_CONFLICT,
            "int8_kv_cache and the prefix cache (use_paged_context_fmha) exclude each other: remove one of the two",
        )
    if options.get("multiple_profiles") == "enable" and target.identity.build.opt_num_tokens:
        raise Failure(
            Reason.BUILD_FLAG_CONFLICT, "opt_num_tokens can't be given with plugin_config.multiple_profiles: remove one of the two"
        )


def _unknown(target: BuildTarget, name: str) -> Failure:
    near = get_close_matches(name, [flag.name for flag in target.release.flags.values() if flag.plugin], n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return Failure(
        Reason.UNSUPPORTED_BUILD_FLAG,
        f"plugin_config.{name}: TensorRT-LLM {target.release.versions['tensorrt_llm']} (release {target.release.release}) has no such key"
        f"{hint or ': remove it, or choose a release that has it'}",
    )
