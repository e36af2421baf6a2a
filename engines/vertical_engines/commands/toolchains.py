"""`vertical-engines toolchains`: the compatibility matrix as a table, as JSON and as the page of the docs."""

import json
import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table

from vertical_engines.contract.flags import FlagHistory, FlagSpec
from vertical_engines.contract.toolchains import Matrix, Release, matrix

COLUMNS = ("Backend", "Release", "Version", "TensorRT", "CUDA", "Triton", "Python", "SM", "Batching")
WIDE = 160
"""Columns of a table that goes into a file or a pipe."""
NOTE = "<!-- Made by `vertical-engines toolchains -o markdown`; edit engines/vertical_engines/contract/toolchains.json. -->"
HEAD = """\
# Toolchains

The compatibility matrix: what operator, builders and checks know of releases, flags and GPUs. A release is chosen by
`spec.toolchain.release`. Architectures (SM) are compute capabilities times ten; a row without any runs on CPUs. Rows of NVIDIA's
releases follow their published documents; none of them has been run by this project's tests, which have no GPU. `OpenVINO` rows are
built and served in the tests.

Other releases, flags and GPUs can be added without a new version of the operator: the chart's value `extraToolchains` takes them in
the format of `toolchains.json`. They are checked when the operator starts, and never change what is built in.
`vertical-operator check --toolchains FILE` takes the same. Rows of an installation are handed on to the builds that need them, and the
chart's admission policy leaves them to the operator. As values:

    extraToolchains:
      releases:
      - backend: TensorRTLLM
        release: "26.06-site"
        image: vertical-engines-tensorrt-llm:26.06-site
        triton: "2.70"
        python: "3.12"
        versions: {tensorrt_llm: 1.2.1}      # decides which flags it knows
        sm: ["80-90", "100-121"]
        batching: {InFlight: [paged]}
      flags:
        TensorRTLLM:
          site_flag: {since: "1.2.1", kind: switch, default: disable, plugin: true}
      gpus:
        NVIDIA-X9000: {sm: 120, memory: 32768}
"""
ABOUT_ASSUMED = "≈: the first version is not known for sure; it is taken early, so that nothing is refused that may work."
ABOUT_GPUS = """\
By the value of the node label `nvidia.com/gpu.product`. Parts (`-MIG-2g.20gb`) and shared GPUs (`-SHARED`) are told from their suffix.
A product that is not listed is never refused for what it is."""
HISTORY_COLUMNS = ("Name", "Since", "Gone", "Kind", "Default", "Limits", "Meaning")


def show_toolchains(output: str) -> int:
    """Print the matrix: `text`, `json` or `markdown`. Returns the exit code."""
    known = matrix()
    if output == "json":
        print(json.dumps([_as_json(row) for row in known.releases], indent=1, ensure_ascii=False))
    elif output == "markdown":
        print(page(known), end="")
    else:
        console = Console(width=None if sys.stdout.isatty() else WIDE)
        table = Table(*COLUMNS)
        for row in known.releases:
            table.add_row(*_cells(row))
        console.print(table)
    return 0


def _cells(row: Release) -> tuple[str, ...]:
    versions = row.versions
    program = versions.get("tensorrt_llm") or versions.get("openvino", "")
    batching = ", ".join(f"{kind} ({'/'.join(layouts)})" for kind, layouts in row.batching.items())
    architectures = " ".join(map(str, row.sm)) or "CPU"
    return (
        row.backend,
        row.release,
        program,
        versions.get("tensorrt", ""),
        versions.get("cuda", ""),
        row.triton,
        row.python,
        architectures,
        batching,
    )


def _as_json(row: Release) -> dict[str, object]:
    flags, parameters = (
        {name: spec.model_dump(mode="json", by_alias=True, exclude={"name"}, exclude_defaults=True) for name, spec in specs.items()}
        for specs in (row.flags, row.parameters)
    )
    return {**row.model_dump(mode="json", by_alias=True), "flags": flags, "parameters": parameters}


def page(known: Matrix) -> str:
    """`docs/reference/toolchains.md`."""
    parts = [NOTE, "", HEAD, "## Releases", "", *_table((*COLUMNS, "Note"), ((*_cells(row), row.note) for row in known.releases)), ""]
    for title, kinds in (("Build flags", known.file.flags), ("Parameters of the serving model", known.file.parameters)):
        for backend, histories in kinds.items():
            parts += [f"## {title} of {backend}", ""]
            parts += _table(
                ("Name", "Since", "Gone", "Kind", "Default", "Limits", "Meaning"),
                (_history_cells(name, h) for name, h in histories.items()),
            )
            parts += ["", ABOUT_ASSUMED, ""]
    architectures = ((str(sm), a.name, ", ".join(a.dtypes), "" if a.context_fmha else "no") for sm, a in known.file.architectures.items())
    parts += ["## Architectures", "", *_table(("SM", "Name", "Number types", "Fused attention for prompts"), architectures), ""]
    gpus = ((f"`{product}`", str(gpu.sm), f"{gpu.memory:,}") for product, gpu in known.file.gpus.items())
    parts += [
        "## GPUs",
        "",
        "By the value of the node label `nvidia.com/gpu.product`. Parts (`-MIG-2g.20gb`) and shared GPUs (`-SHARED`) are told",
    ]
    parts += ["from their suffix. A product that is not listed is never refused for what it is.", ""]
    parts += _table(("Product", "SM", "Memory (MiB)"), gpus)
    return "\n".join(parts) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return lines + [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]


def _history_cells(name: str, history: FlagHistory) -> tuple[str, ...]:
    spec = history.spec
    since = f"{'≈' if history.assumed else ''}{history.since}"
    step = {"build": "", "conversion": " (option of the conversion)", "automatic": " (set by the build itself)"}[spec.step]
    where = " (plugin_config)" if spec.plugin and spec.step == "build" else ""
    changes = [f"since {version}: {_change(change)}" for version, change in history.changes.items() if _change(change)]
    default = "" if spec.default is None else f"`{spec.default}`"
    return (
        f"`{name}`",
        since,
        history.until or "",
        spec.kind + where + step,
        "; ".join(filter(None, [default, *changes])),
        _limits(spec),
        spec.meaning,
    )


def _change(change: dict[str, object]) -> str:
    words = [f"`{change['default']}`"] if change.get("default") is not None else []
    words += [f"old, use {change['deprecated']}"] if "deprecated" in change else []
    words += ["always given"] if change.get("explicit") and "default" not in change else []
    return ", ".join(words)


def _limits(spec: FlagSpec) -> str:
    words = [" ".join(spec.choices)] if spec.choices else []
    words += [f"≥ {spec.minimum:g}"] if spec.minimum is not None else []
    words += [f"≤ {spec.maximum:g}"] if spec.maximum is not None else []
    return ", ".join(words + (["power of two"] if spec.power_of_two else []))
