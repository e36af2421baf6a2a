"""What typed conversion costs beside hand-written and naive code, interleaved: `python -m tests.bench.codec`.

One figure is all conversions of a pipeline request: the entry decoded, a child request encoded, its answer decoded, the
response encoded. Styles alternate within a round, and a ratio is the median over rounds of ratios within one round, so that noise
falls on all alike. Tensors are bare holders here: what Triton's own objects cost is the same for every style.
"""

import statistics
import time
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from tests.bench.messages import CANDIDATES, DIMENSION, Found, Query, Reply, Vector
from vertical_engines.sdk import NDArray, TritonFieldModel, TritonType
from vertical_engines.sdk.codec import codec_of
from vertical_engines.sdk.columns import ColumnCodec
from vertical_engines.sdk.rows import RowCodec


class Tensor:
    """Holds a name and an array."""

    __slots__ = ("_array", "_name")

    def __init__(self, name: str, array: Any) -> None:
        self._name, self._array = name, array

    def name(self) -> str:
        return self._name

    def as_numpy(self) -> Any:
        return self._array


def wire(*values: str) -> Any:
    array = np.empty(len(values), object)
    array[:] = [value.encode() for value in values]
    return array


QUERY = [
    Tensor("query", wire("blue heron cafe")),
    Tensor("region", wire("harbor")),
    Tensor("limit", np.array([8], np.int32)),
    Tensor("threshold", np.array([0.5], np.float32)),
]
FOUND = [Tensor("names", wire(*(f"place {number}" for number in range(CANDIDATES)))), Tensor("scores", np.zeros(CANDIDATES, np.float32))]
EMBEDDING = np.zeros(DIMENSION, np.float32)
NAMES = [f"place {number}" for number in range(CANDIDATES)]


def named(tensors: list[Tensor], name: str) -> Any:
    """As pb_utils.get_input_tensor_by_name does it."""
    return next((tensor for tensor in tensors if tensor.name() == name), None)


def strings(values: list[str]) -> Any:
    return np.array(values, dtype=object)


def by_hand() -> Any:
    query, region = named(QUERY, "query").as_numpy()[0].decode(), named(QUERY, "region")
    region = None if region is None else region.as_numpy()[0].decode()
    limit, threshold = int(named(QUERY, "limit").as_numpy()[0]), float(named(QUERY, "threshold").as_numpy()[0])
    child = [Tensor("vector", EMBEDDING), Tensor("limit", np.array([limit], np.int32))]
    names, scores = [one.decode() for one in named(FOUND, "names").as_numpy()], named(FOUND, "scores").as_numpy()
    reply = [Tensor("name", strings([query])), Tensor("score", np.array([threshold], np.float32)), Tensor("names", strings(names))]
    return region, child, scores, reply


def by_codec() -> Any:
    request = codec_of(Query).decode_tensors(QUERY)
    child = codec_of(Vector).encode_tensors(Vector(vector=EMBEDDING, limit=request.limit), Tensor)
    found = codec_of(Found).decode_tensors(FOUND)
    reply = codec_of(Reply).encode_tensors(Reply(name=request.query, score=request.threshold, names=found.names), Tensor)
    return request.region, child, found.scores, reply


_TYPES = {"TYPE_STRING": object, "TYPE_INT32": np.int32, "TYPE_FP32": np.float32}


def naive_decode(schema: type[TritonFieldModel], tensors: list[Tensor]) -> Any:
    """Reflection at each call, as a first version is usually written."""
    hints, values = get_type_hints(schema, include_extras=True), {}
    for name in schema.model_fields:
        tensor = named(tensors, name)
        if tensor is None:
            continue
        array = tensor.as_numpy()
        elements = [one.decode() if isinstance(one, bytes) else one for one in array.tolist()]
        values[name] = array if "ndarray" in str(hints[name]) else elements if "list" in str(hints[name]) else elements[0]
    return schema.model_validate(values)


def naive_encode(model: TritonFieldModel) -> list[Tensor]:
    tensors = []
    hints = get_type_hints(type(model), include_extras=True)
    for name, value in model.model_dump().items():
        marks = [one for one in getattr(hints[name], "__metadata__", ()) if isinstance(one, TritonType)]
        if value is not None:
            values = value if isinstance(value, (list, np.ndarray)) else [value]
            tensors.append(Tensor(name, np.array(values, dtype=_TYPES[marks[0].data_type if marks else "TYPE_STRING"])))
    return tensors


def naively() -> Any:
    request = naive_decode(Query, QUERY)
    child = naive_encode(Vector(vector=EMBEDDING, limit=request.limit))
    found = naive_decode(Found, FOUND)
    return request.region, child, found.scores, naive_encode(Reply(name=request.query, score=request.threshold, names=found.names))


def seconds(work: Callable[[], Any], *, calls: int) -> float:
    """Mean of one call."""
    start = time.perf_counter()
    for _ in range(calls):
        work()
    return (time.perf_counter() - start) / calls


BATCH = 32
ROWS = [
    Tensor("query", wire(*(["blue heron"] * BATCH)).reshape(-1, 1)),
    Tensor("region", wire(*(["harbor"] * BATCH)).reshape(-1, 1)),
    Tensor("limit", np.full((BATCH, 1), 8, np.int32)),
    Tensor("threshold", np.full((BATCH, 1), 0.5, np.float32)),
]


def rows_by_hand() -> Any:
    texts = [[one.decode() for one in named(ROWS, name).as_numpy().ravel().tolist()] for name in ("query", "region")]
    numbers = [named(ROWS, name).as_numpy().ravel().tolist() for name in ("limit", "threshold")]
    return [*texts, *numbers]


def _rows(*, rounds: int, calls: int) -> None:
    columns, rows = ColumnCodec(Query), RowCodec(Query)
    pairs = [(tensor.name(), tensor.as_numpy()) for tensor in ROWS]
    as_columns, as_rows = columns.decode(pairs), rows.decode(pairs)
    styles: dict[str, Callable[[], Any]] = {
        "decode by hand": rows_by_hand,
        "decode columns": lambda: columns.decode(pairs),
        "decode rows": lambda: rows.decode(pairs),
        "encode columns": lambda: columns.encode(as_columns),
        "encode rows": lambda: rows.encode(as_rows),
    }
    took: dict[str, list[float]] = {name: [] for name in styles}
    for _ in range(rounds):
        for name, work in styles.items():
            took[name].append(seconds(work, calls=calls) / BATCH)
    table = Table(title=f"a batch of {BATCH}, per row")
    for heading in ("style", "µs", "ratio"):
        table.add_column(heading, justify="left" if heading == "style" else "right")
    for name, values in took.items():
        ratio = statistics.median(mine / theirs for mine, theirs in zip(values, took["decode by hand"], strict=True))
        table.add_row(name, f"{statistics.median(values) * 1e6:.2f}", f"{ratio:.2f}")
    Console().print(table)


class Long(TritonFieldModel):
    vector: Annotated[NDArray, TritonType("TYPE_FP32")]


def main(rounds: int = 25, calls: int = 400) -> None:
    """Print µs per pipeline request and ratios."""
    styles = {"hand-written": by_hand, "codec": by_codec, "naive reflection": naively}
    figures: dict[str, list[float]] = {name: [] for name in styles}
    for _ in range(rounds):
        for name, work in styles.items():
            figures[name].append(seconds(work, calls=calls if name != "naive reflection" else calls // 8))
    table = Table(title=f"4 conversions of one request, {rounds} rounds")
    for heading in ("style", "µs", "ratio"):
        table.add_column(heading, justify="left" if heading == "style" else "right")
    for name, took in figures.items():
        ratio = statistics.median(mine / theirs for mine, theirs in zip(took, figures["hand-written"], strict=True))
        table.add_row(name, f"{statistics.median(took) * 1e6:.1f}", f"{ratio:.2f}")
    Console().print(table)
    per_codec = statistics.median(naive / mine for naive, mine in zip(figures["naive reflection"], figures["codec"], strict=True))
    long, codec = [Tensor("vector", np.zeros(4096, np.float32))], codec_of(Long)
    vector = statistics.median(seconds(lambda: codec.decode_tensors(long), calls=calls) for _ in range(rounds))
    _rows(rounds=rounds, calls=calls // 4)
    Console().print(f"naive / codec {per_codec:.1f}; 4096 floats decoded and validated in {vector * 1e6:.2f} µs")


if __name__ == "__main__":
    typer.run(main)
