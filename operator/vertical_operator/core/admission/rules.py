"""One rule per policy that CEL can say: when it objects, and in which words. The words are those of the policy of the same name."""

from dataclasses import dataclass

from vertical_operator.core.admission import cel
from vertical_operator.core.admission.tables import ENGINE_BACKEND
from vertical_operator.core.policies.gpu import PARALLELISM
from vertical_operator.core.policies.kv_cache import FUSED, IN_FLIGHT, KV_CACHE_TYPE, PAGED
from vertical_operator.core.policies.memory import USABLE

ROW = 't.backend + "/" + t.release'
NAMED = 't.backend + " " + t.release'
KNOWN = f"({ROW}) in variables.rows"
BUILDS = f't.backend == "{ENGINE_BACKEND}" && {KNOWN}'
ENGINES = f't.backend == "{ENGINE_BACKEND}"'
PLUGIN = 't.variantPath + ".buildConfig.plugin_config." + k'
LACKS = "t.sm in variables.lacking"


@dataclass(frozen=True)
class Rule:
    """`when` and the texts are expressions on `t`, one placement; with `each`, also on `k`, an entry of that list."""

    policy: str
    when: str
    field: str
    what: str
    why: str
    instead: str
    each: str = ""

    def complaints(self) -> str:
        """A list per variant of a list of messages, without those that are empty."""
        words = cel.joined(
            f"({self.field})", '" (" + t.where + "): "', f"({self.what})", '": "', f"({self.why})", '"; "', f"({self.instead})"
        )
        if not self.each:
            return f"variables.targets.map(ts, ts.filter(t, {self.when}).map(t, {words})).filter(found, found.size() > 0)"
        # The first entry of a placement is enough: the API server reports one message.
        inner = f"{self.each}.filter(k, {self.when})"
        matching = f"ts.filter(t, {inner}.size() > 0).map(t, {inner}.map(k, {words})[0])"
        return f"variables.targets.map(ts, {matching}).filter(found, found.size() > 0)"


def _text(value: str) -> str:
    return cel.text(value)


def _split(tensor: str, pipeline: str) -> str:
    """The keys of a split that are given, with their values or without."""
    first, second = (f'"{key}' + (f' " + {value}' if value else '"') for key, value in (("tp_size", tensor), ("pp_size", pipeline)))
    both = 't.tp_size != "" && t.pp_size != "" ? " and " : ""'
    return f'(t.tp_size != "" ? {first} : "") + ({both}) + (t.pp_size != "" ? {second} : "")'


POSITION = f"variables.position[{ROW}]"
FLAG_KNOWN = f"k in variables.flagFirst && {POSITION} >= variables.flagFirst[k] && {POSITION} < variables.flagEnd[k]"
COUNT = 'double(t.parameters.substring(0, t.parameters.size() - 1)) * (t.parameters.endsWith("B") ? 1000000000.0 : 1000000.0)'
NEEDED = f"({COUNT} * variables.bytes[t.weights])"
WHOLE = "variables.memory[t.whole]"
MEMORY = f'(t.part != "" && int(t.part) * 1000 < {WHOLE} ? int(t.part) * 1000 : {WHOLE})'
ROOM = f"({USABLE} * 1048576.0 * double({MEMORY}))"
"""Bytes of one GPU."""
FITS_IN = f"({NEEDED} / {ROOM})"
GPUS = f"(double(int({FITS_IN})) < {FITS_IN} ? int({FITS_IN}) + 1 : int({FITS_IN}))"
RAISED = f"(t.sm in variables.unfused || {cel.off('t.context_fmha')} || {cel.off('t.remove_input_padding')})"

RULES: tuple[Rule, ...] = (
    Rule(
        policy="unknown_release",
        when=f"!({KNOWN}) && !(({ROW}) in variables.added)",
        field='t.toolchain + ".release"',
        what='t.backend + " has no release " + t.release',
        why=_text("the compatibility matrix has no such row"),
        instead='"choose one of: " + variables.names[t.backend]',
    ),
    Rule(
        policy="backend_needs_gpu",
        when=f't.accelerated == "false" && {KNOWN} && !(({ROW}) in variables.cpuRows)',
        field='t.path + ".accelerator"',
        what=_text("no GPU is asked for"),
        why='"backend " + t.backend + " runs on GPUs only"',
        instead=_text("set accelerator.product, or use backend OpenVINO for CPUs"),
    ),
    Rule(
        policy="backend_has_no_gpu",
        when=f't.accelerated == "true" && ({ROW}) in variables.cpuRows',
        field='t.path + ".accelerator"',
        what=f'{NAMED} + " does not run on " + t.product',
        why='"backend " + t.backend + " runs on CPUs only"',
        instead=_text("remove accelerator, or choose another backend"),
    ),
    Rule(
        policy="release_lacks_architecture",
        when=f'{KNOWN} && t.sm != "" && (t.backend + "/" + t.sm) in variables.able '
        f'&& !(t.release in variables.able[t.backend + "/" + t.sm])',
        field='t.toolchain + ".release"',
        what=f'{NAMED} + " does not run on " + t.product',
        why='"it has no code for SM" + t.sm',
        instead='variables.otherRelease[t.backend + "/" + t.sm]',
    ),
    Rule(
        policy="world_size_differs",
        when=f'{ENGINES} && t.accelerated == "true" && (t.tp_size != "" || t.pp_size != "")',
        field='t.variantPath + ".buildConfig.plugin_config." + (t.tp_size != "" ? "tp_size" : "pp_size")',
        what=f'{_split("t.tp_size", "t.pp_size")} + " for accelerator.count " + t.count',
        why=_text("the engine is split over exactly the GPUs of its pod"),
        instead=f'"remove " + {_split("", "")} + "; accelerator.count says it"',
    ),
    Rule(
        policy="weights_lack_type",
        when=f"{LACKS} && t.weights in variables.lacking[t.sm]",
        field=_text("spec.model.weights"),
        what='t.product + " does not compute in " + t.weights',
        why='t.weights + " needs " + variables.needed[t.weights] + ", this GPU is SM" + t.sm',
        instead='"use weights " + (t.weights == "bfloat16" ? "float16" : "int8 or float16") + ", or another GPU"',
    ),
    Rule(
        policy="layout_cannot_be_served",
        when=f't.paged == "false" && {KNOWN} && !(({ROW}) in variables.staticContiguous)',
        field='t.variantPath + ".buildConfig.plugin_config.paged_kv_cache"',
        what=f'{NAMED} + " can\'t serve a contiguous KV cache"',
        why=_text("it has in-flight batching only, which needs a paged one"),
        instead=f"{_text(PAGED)} + variables.staticReleases[t.backend]",
    ),
    Rule(
        policy="kv_cache_type_contradicts",
        when=f'{ENGINES} && t.kv_cache_type != "" && t.kv_cache_type.lowerAscii() != (t.paged == "true" ? "paged" : "continuous")',
        field=f't.variantPath + ".buildConfig.plugin_config.{KV_CACHE_TYPE}"',
        what='"kv_cache_type " + t.kv_cache_type + " with a " + (t.paged == "true" ? "paged" : "contiguous") + " KV cache"',
        why=_text("paged_kv_cache decides the layout, and disabled is no KV cache at all"),
        instead=_text("remove kv_cache_type, and set paged_kv_cache to true (paged) or false (contiguous)"),
    ),
    Rule(
        policy="static_batching_is_gone",
        when=f't.paged == "true" && t.batching == "Static" && {KNOWN} && !(({ROW}) in variables.staticPaged)',
        field='t.variantPath + ".batching"',
        what=f'{NAMED} + " has no static batching"',
        why=_text("it batches in flight only"),
        instead=f"{_text(IN_FLIGHT)} + variables.staticReleases[t.backend]",
    ),
    Rule(
        policy="prefix_cache_needs_in_flight",
        when='t.prefix == "true" && t.batching != "InFlight"',
        field='t.variantPath + ".prefixCache.enabled"',
        what=_text("prefixCache with batching Static"),
        why=_text("requests share blocks under in-flight batching only"),
        instead=_text("remove prefixCache, or set batching to InFlight"),
    ),
    Rule(
        policy="gpu_lacks_fused_attention",
        each=cel.texts([*FUSED, "prefixCache"]),
        when=f'{ENGINES} && t.sm in variables.unfused && (k == "prefixCache" ? t.prefix == "true" : {cel.on("t[k]")})',
        field=f'k == "prefixCache" ? t.variantPath + ".prefixCache.enabled" : {PLUGIN}',
        what='k + " on " + t.product',
        why='"SM" + t.sm + " has no fused attention for prompts, which it needs"',
        instead='"remove " + k + ", or use another GPU"',
    ),
    Rule(
        policy="prefix_cache_lacks_attention",
        each=cel.texts(["context_fmha", "use_paged_context_fmha"]),
        when=f'{ENGINES} && t.prefix == "true" && {cel.off("t[k]")}',
        field=PLUGIN,
        what='"prefixCache with " + k + " switched off"',
        why=_text("the engine can share blocks only when it is built with it"),
        instead='"remove " + k + ", or prefixCache"',
    ),
    Rule(
        policy="in_flight_lacks_plugin",
        each=cel.texts(["remove_input_padding", "gpt_attention_plugin"]),
        when=f'{ENGINES} && t.batching == "InFlight" && {cel.off("t[k]")}',
        field=PLUGIN,
        what='"batching InFlight with " + k + " switched off"',
        why=_text("the server takes only engines with packed input and the attention plugin"),
        instead='"remove " + k + ", or set batching to Static with paged_kv_cache false"',
    ),
    Rule(
        policy="int8_cache_meets_paged_attention",
        when=f'{ENGINES} && {cel.on("t.int8_kv_cache")} && (t.prefix == "true" || {cel.on("t.use_paged_context_fmha")})',
        field='t.variantPath + ".buildConfig.plugin_config.int8_kv_cache"',
        what='"int8_kv_cache with " + (t.prefix == "true" ? "prefixCache" : "use_paged_context_fmha")',
        why=_text("fused attention over a paged KV cache has no kernel for int8"),
        instead='"remove int8_kv_cache, or " + (t.prefix == "true" ? "prefixCache" : "use_paged_context_fmha")',
    ),
    Rule(
        policy="flag_is_unknown",
        each='t.flags.split(",")',
        when=f'{BUILDS} && k != "" && !(k in {cel.texts([*PARALLELISM, KV_CACHE_TYPE])}) && !({FLAG_KNOWN})',
        field=PLUGIN,
        what=f'{NAMED} + " has no build flag " + k',
        why=f'k in variables.flagUntil && {POSITION} >= variables.flagEnd[k] ? "it is gone since TensorRT-LLM " + variables.flagUntil[k] + '
        f'", and this is " + variables.version[{ROW}] : k in variables.flagSince ? "it came with TensorRT-LLM " + variables.flagSince[k] + '
        f'", and this is " + variables.version[{ROW}] : k in variables.options[{ROW}] ? '
        '"it is a flag of trtllm-build, but no key of plugin_config" : "no release has it"',
        instead='k in variables.flagInstead ? variables.flagInstead[k] : "remove it"',
    ),
    Rule(
        policy="plugin_lacks_type",
        each='t.typed.split(",")',
        when=f'k != "" && {LACKS} && k.split("=")[1] in variables.lacking[t.sm]',
        field='t.variantPath + ".buildConfig.plugin_config." + k.split("=")[0]',
        what='k.split("=")[0] + " in " + k.split("=")[1] + " on SM" + t.sm',
        why='k.split("=")[1] + " needs " + variables.needed[k.split("=")[1]]',
        instead=_text("use float16, auto or disable, or another GPU"),
    ),
    Rule(
        policy="fp8_attention_needs_fp8",
        when=f'{cel.on("t.use_fp8_context_fmha")} && {LACKS} && "fp8" in variables.lacking[t.sm]',
        field='t.variantPath + ".buildConfig.plugin_config.use_fp8_context_fmha"',
        what='"fused attention in fp8 on SM" + t.sm',
        why='"fp8 needs " + variables.needed["fp8"]',
        instead=_text("remove use_fp8_context_fmha, or use another GPU"),
    ),
    Rule(
        policy="prompt_exceeds_step",
        when=f't.step != "" && {BUILDS} && !{RAISED} && int(t.input) > int(t.step)',
        field='t.variantPath + ".buildConfig.max_num_tokens"',
        what='"max_input_len " + t.input + " with max_num_tokens " + t.step',
        why=_text("a prompt has to fit into one step"),
        instead='"set max_num_tokens to " + t.input + " or more, or remove it, or lower max_input_len"',
    ),
    Rule(
        policy="profiles_exclude_optimum",
        when=f'{ENGINES} && t.optimum != "" && {cel.on("t.multiple_profiles")}',
        field='t.variantPath + ".buildConfig.opt_num_tokens"',
        what=_text("opt_num_tokens with multiple_profiles"),
        why=_text("each says what kernels are tuned for"),
        instead=_text("remove one of the two"),
    ),
    Rule(
        policy="weights_exceed_memory",
        when=f't.parameters != "" && t.sm != "" && {NEEDED} > {ROOM} * double(int(t.count))',
        field='t.path + ".accelerator"',
        what=f't.parameters + " weights in " + t.weights + " are " + "%.1f".format([{NEEDED} / 1073741824.0]) + " GiB or more"',
        why=f't.count + " × " + t.product + " has room for " + "%.1f".format([{ROOM} * double(int(t.count)) / 1073741824.0]) + " GiB"',
        instead=f'"use weights with fewer bits, accelerator.count " + string({GPUS}) + " or more, or a GPU with more memory"',
    ),
    Rule(
        policy="openvino_lacks",
        each=cel.texts(["beam search", "weights", "host memory for prefixes (they are in host memory already)"]),
        when='t.backend == "OpenVINO" && (k == "beam search" ? t.beams != "" && int(t.beams) > 1 : k == "weights" ? '
        't.weights in ["fp8", "bfloat16"] : t.prefixMemory == "true")',
        field='k == "beam search" ? t.variantPath + ".buildConfig.max_beam_width" : k == "weights" ? "spec.model.weights" : '
        't.variantPath + ".prefixCache.hostMemory"',
        what='"backend OpenVINO has no " + (k == "weights" ? t.weights + " weights" : k)',
        why=_text("its runtime has no such thing"),
        instead='k == "beam search" ? "set it to 1" : k == "weights" ? "use float16, int8 or int4, or source" : "remove it"',
    ),
    Rule(
        policy="pytorch_lacks",
        when='t.backend == "TensorRTLLMPyTorch" && t.weights == "int8"',
        field=_text("spec.model.weights"),
        what=_text("backend TensorRTLLMPyTorch has no int8 weights"),
        why=_text("its quantised weights are fp8 and int4"),
        instead=_text("use fp8, int4 or source"),
    ),
    Rule(
        policy="settings_of_openvino_elsewhere",
        when='t.openvino == "true" && t.backend != "OpenVINO"',
        field='t.variantPath + ".openvino"',
        what=f'"openvino has settings of the backend OpenVINO, the toolchain here is " + {NAMED}',
        why=_text("another runtime would leave them out without a word"),
        instead=_text("remove it, or give this placement a variant of its own"),
    ),
)
"""In the order of the policies: the first message is the one that a status would show."""
