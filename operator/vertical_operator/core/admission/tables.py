"""The matrix as variables of the policy: named CEL literals."""

from vertical_engines.contract.engine import Backend
from vertical_engines.contract.flags import FlagHistory
from vertical_engines.contract.toolchains import Matrix, Release
from vertical_operator.core.admission import cel
from vertical_operator.core.policies.flags import instead_of_flag
from vertical_operator.core.policies.gpu import instead_of_release
from vertical_operator.core.policies.kv_cache import static_releases
from vertical_operator.core.policies.memory import BYTES
from vertical_operator.core.policies.number_types import TYPES, needed_architecture

BACKENDS: tuple[Backend, ...] = ("TensorRTLLM", "TensorRTLLMPyTorch", "OpenVINO")
ENGINE_BACKEND: Backend = "TensorRTLLM"
NEVER = 9999
"""Position of a release that never came."""

Tables = dict[str, str]


def tables(matrix: Matrix) -> Tables:
    """Name of a variable to its expression."""
    return {**_releases(matrix), **_gpus(matrix), **_flags(matrix)}


def _key(row: Release) -> str:
    return f"{row.backend}/{row.release}"


def _releases(matrix: Matrix) -> Tables:
    rows = matrix.releases
    return {
        "names": cel.table({backend: ", ".join(matrix.release_names(backend)) for backend in BACKENDS}),
        "rows": cel.texts([_key(row) for row in rows]),
        "cpuRows": cel.texts([_key(row) for row in rows if row.cpu_only]),
        "staticContiguous": cel.texts([_key(row) for row in rows if row.serves("Static", "contiguous")]),
        "staticPaged": cel.texts([_key(row) for row in rows if row.serves("Static", "paged")]),
        "staticReleases": cel.table({backend: static_releases(matrix, backend) for backend in BACKENDS}),
    }


def _gpus(matrix: Matrix) -> Tables:
    architectures = matrix.file.architectures
    backends = [backend for backend in BACKENDS if any(row.sm for row in matrix.releases if row.backend == backend)]
    pairs = [(backend, sm) for backend in backends for sm in architectures]
    able = {
        f"{backend}/{sm}": [row.release for row in matrix.releases if row.backend == backend and row.runs_on(sm)] for backend, sm in pairs
    }
    lacking = {str(sm): [dtype for dtype in TYPES if found.dtypes and dtype not in found.dtypes] for sm, found in architectures.items()}
    return {
        "architecture": cel.table({product: str(gpu.sm) for product, gpu in matrix.file.gpus.items()}),
        "memory": cel.numbers({product: gpu.memory for product, gpu in matrix.file.gpus.items()}),
        "bytes": cel.decimals(BYTES),
        "able": cel.lists(able),
        "otherRelease": cel.table({f"{backend}/{sm}": instead_of_release(matrix, backend, sm=sm) for backend, sm in pairs}),
        "lacking": cel.lists(lacking),
        "needed": cel.table({dtype: needed_architecture(matrix, dtype) for dtype in TYPES}),
        "unfused": cel.texts([str(sm) for sm, found in architectures.items() if not found.context_fmha]),
    }


def _flags(matrix: Matrix) -> Tables:
    """A flag is known from one position in the order of releases to before another."""
    rows = [row for row in matrix.releases if row.backend == ENGINE_BACKEND]
    plugins = {name: history for name, history in matrix.file.flags[ENGINE_BACKEND].items() if history.spec.plugin}
    first, end = ({name: span[side] for name, history in plugins.items() if (span := _span(history, rows))} for side in (0, 1))
    partly = [name for name in plugins if first[name] > 0 or end[name] < len(rows)]
    return {
        "position": cel.numbers({_key(row): number for number, row in enumerate(rows)}),
        "version": cel.table({_key(row): row.versions["tensorrt_llm"] for row in rows}),
        "flagFirst": cel.numbers(first),
        "flagEnd": cel.numbers(end),
        "flagSince": cel.table({name: plugins[name].since for name in partly}),
        "flagUntil": cel.table({name: until for name in partly if (until := plugins[name].until)}),
        "flagInstead": cel.table({name: instead_of_flag(matrix, ENGINE_BACKEND, key=name) for name in partly}),
        "options": cel.lists({_key(row): [name for name, spec in row.flags.items() if not spec.plugin] for row in rows}),
    }


def _span(history: FlagHistory, rows: list[Release]) -> tuple[int, int]:
    known = [number for number, row in enumerate(rows) if history.knows(row.version)]
    return (known[0], known[-1] + 1) if known else (NEVER, NEVER)
