"""The page of the docs about the checks: which rule of the facts stops where, and every policy with what it refuses."""

from vertical_operator.core.admission.rules import RULES as ADMISSION_RULES
from vertical_operator.core.policies import POLICIES, no_node_has_gpu
from vertical_operator.core.policies.policy import Policy

NOTE = "<!-- Made by `vertical-operator policies`; edit the policies. -->"
HEAD = """\
# Checks

What can't work is refused as early as it can be known, with the field, the cause and what to write instead. The schema of the API comes
first; the policies below come from the compatibility matrix ([toolchains](toolchains.md)) and have three uses with the same words:

1. `vertical-operator check -f FILE...` before anything is applied: one line per finding, exit code 1 (`-o json` for pipelines; 2: the input
   can't be read). It needs no cluster. Additions of the installation: `--toolchains FILE`.
2. The API server, by a ValidatingAdmissionPolicy of the chart (`admissionPolicy.enabled`, Kubernetes 1.30 and later). It reports the first
   finding. An expression that fails lets the object through, an update that leaves the spec alone always passes, and releases that the
   installation adds are left to the operator.
3. The operator: the object is `Stalled` with reason and message, and what served before keeps serving.

Nothing is refused that may work: a GPU product that the matrix does not know passes, and so does a model of unknown size. What only shows
in files (a decoupled model behind the response cache, weights of a type that a family's conversion lacks, an engine of another GPU) is
refused by the build or by the init container of the pod, and shows in the status."""

SCHEMA, LOAD = "schema", "pod"
RULES: tuple[tuple[str, str, str], ...] = (
    ("R1", "a GPU that the release has no code for", "release_lacks_architecture"),
    ("R2", "a number type that the GPU lacks", "weights_lack_type, plugin_lacks_type, fp8_attention_needs_fp8"),
    ("R3", "prefix cache or chunked context on SM75", "gpu_lacks_fused_attention"),
    ("R4", "a contiguous KV cache from TensorRT-LLM 0.20 on", "layout_cannot_be_served, static_batching_is_gone"),
    ("R5", "a contiguous KV cache with in-flight batching or prefix cache", f"{SCHEMA}; prefix_cache_needs_in_flight"),
    ("R6", "a response cache on sampled answers, on the entry model, or on a decoupled model", f"{SCHEMA}; the last in the {LOAD}"),
    ("R7", "engines by TensorRT-LLM 1.3 and later", "engine_path_is_gone"),
    ("R8", "limits that do not fit each other", f"{SCHEMA} (max_seq_len); prompt_exceeds_step"),
    ("R9", "weights that exceed the GPU's memory", "weights_exceed_memory, where spec.model.parameterCount says how many there are"),
    ("R10", "another split than the pod has GPUs", f"world_size_differs; one product per placement: {SCHEMA}"),
    ("R11", "an int8 KV cache with paged context attention", "int8_cache_meets_paged_attention"),
    ("R12", "a placeholder in a rendered config.pbtxt", "placeholder_is_left"),
    ("R13", "other images for build and runtime", f"by construction: one image in the engine's identity; digests in the {LOAD}"),
)
"""Rule of the facts, what it refuses, and where that stops."""


def page() -> str:
    """`docs/reference/checks.md`."""
    by_server = {rule.policy for rule in ADMISSION_RULES}
    rules = [f"| {name} | {what} | {where} |" for name, what, where in RULES]
    policies = [
        f"| `{name}` | {words} | {'yes' if name in by_server else 'no'} |"
        for name, words in [("unknown_release", "A release that the matrix does not have."), *map(_row, (*POLICIES, no_node_has_gpu))]
    ]
    parts = [NOTE, "", HEAD, "", "## Rules", "", "| rule | refuses | policy, or where else |", "|---|---|---|", *rules, ""]
    parts += [
        "## Policies",
        "",
        "In their order; a status shows the first.",
        "",
        "| policy | refuses | API server too |",
        "|---|---|---|",
        *policies,
    ]
    return "\n".join(parts) + "\n"


def _row(policy: Policy | object) -> tuple[str, str]:
    name, words = getattr(policy, "__name__", ""), (policy.__doc__ or "")
    return name, " ".join(words.split()).replace("|", "\\|")
