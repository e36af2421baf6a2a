"""One flat map of strings per placement, as a CEL expression: what the rules look at."""

from vertical_operator.core.admission import cel

FLAGS = (
    "context_fmha",
    "gpt_attention_plugin",
    "int8_kv_cache",
    "kv_cache_type",
    "multiple_profiles",
    "pp_size",
    "remove_input_padding",
    "tp_size",
    "use_fp8_context_fmha",
    "use_paged_context_fmha",
)
"""Keys of plugin_config whose value a rule looks at."""

PLUGIN = "v.buildConfig.plugin_config"
CHAIN = "(has(p.toolchain) ? p.toolchain : has(v.toolchain) ? v.toolchain : object.spec.toolchain)"
VARIANT_PATH = "object.spec.variants.map(x, x.name).indexOf(v.name)"
PLACEMENT_PATH = "v.placements.map(x, x.name).indexOf(p.name)"


def _index(expression: str) -> str:
    return f"string({expression})"


def _given(path: str, field: str) -> str:
    """An optional number or string as text; empty when it is not there."""
    return f'(has({path}.{field}) ? string({path}.{field}) : "")'


def _flag(name: str) -> str:
    return f'({cel.text(name)} in {PLUGIN} && {PLUGIN}[{cel.text(name)}] != null ? string({PLUGIN}[{cel.text(name)}]) : "")'


def _fields() -> dict[str, str]:
    variant = cel.joined('"spec.variants["', _index(VARIANT_PATH), '"]"')
    placement = cel.joined(variant, '".placements["', _index(PLACEMENT_PATH), '"]"')
    own = f'has(p.toolchain) ? {placement} + ".toolchain" : has(v.toolchain) ? {variant} + ".toolchain" : "spec.toolchain"'
    product = '(has(p.accelerator) ? p.accelerator.product : "")'
    # A part of a GPU and a shared one are of the architecture of the whole.
    whole = f'{product}.replace("-SHARED", "").split("-MIG-")[0]'
    paged = f"(!has({PLUGIN}) || !has({PLUGIN}.paged_kv_cache) || {PLUGIN}.paged_kv_cache)"
    return {
        "variantPath": variant,
        "path": placement,
        "where": cel.joined('"variant "', "v.name", '", placement "', "p.name"),
        "backend": f"{CHAIN}.backend",
        "release": f"{CHAIN}.release",
        "toolchain": f"({own})",
        "accelerated": 'has(p.accelerator) ? "true" : "false"',
        "product": product,
        "count": 'has(p.accelerator) && has(p.accelerator.count) ? string(p.accelerator.count) : "1"',
        "sm": f'({whole} in variables.architecture ? variables.architecture[{whole}] : "")',
        "whole": whole,
        # Gigabytes of a part of a GPU, as its label says.
        "part": f'({product}.contains("-MIG-") ? {product}.find("[0-9]+gb").replace("gb", "") : "")',
        "parameters": '(has(object.spec.model.parameterCount) ? object.spec.model.parameterCount : "")',
        "paged": f"string({paged})",
        "batching": f'(has(v.batching) ? v.batching : {paged} ? "InFlight" : "Static")',
        "prefix": "string(has(v.prefixCache) && has(v.prefixCache.enabled) && v.prefixCache.enabled)",
        "prefixMemory": 'has(v.prefixCache) && has(v.prefixCache.hostMemory) ? "true" : "false"',
        "openvino": 'has(v.openvino) ? "true" : "false"',
        "weights": '(has(object.spec.model.weights) ? object.spec.model.weights : "source")',
        "input": "string(v.buildConfig.max_input_len)",
        "step": _given("v.buildConfig", "max_num_tokens"),
        "optimum": _given("v.buildConfig", "opt_num_tokens"),
        "beams": _given("v.buildConfig", "max_beam_width"),
        "flags": f'(has({PLUGIN}) ? {PLUGIN}.filter(k, {PLUGIN}[k] != null).map(k, k).join(",") : "")',
        "typed": f'(has({PLUGIN}) ? {PLUGIN}.filter(k, {PLUGIN}[k] != null && string({PLUGIN}[k]) in ["bfloat16", "fp8", "nvfp4"])'
        f'.map(k, k + "=" + string({PLUGIN}[k])).join(",") : "")',
        **{name: f'(has({PLUGIN}) ? {_flag(name)} : "")' for name in FLAGS},
    }


def flat() -> str:
    """A list per variant of one map per placement."""
    entries = ", ".join(f"{cel.text(name)}: string({expression})" for name, expression in _fields().items())
    return f"object.spec.variants.map(v, v.placements.map(p, {{{entries}}}))"
