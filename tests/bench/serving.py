"""Latency and throughput of both variants of the demo, interleaved: `python -m tests.bench.serving` after `make demo`.

Every request is another receipt, so that no response cache answers. Rounds of the variants alternate, and figures are medians over
rounds, so that a neighbour's load falls on both alike.
"""

import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.table import Table

from tests.cluster.cluster import Cluster
from tests.demo.conversation import MODEL, VARIANTS
from tests.demo.service import NAME, NAMESPACE
from vertical_engines.client import VerticalClient
from vertical_engines.contract.serving import HTTP_PORT
from verticals.poi_matching.schemas import BlsRequest, BlsResponse

_numbers = itertools.count(int(time.time() * 1000) % 10**9)
Ask = Callable[[], float]


def main(rounds: int = 7, requests: int = 16, cluster: str = "vertical") -> None:
    """Print one row per variant and concurrency."""
    table = Table(title=f"{NAME}: {rounds} rounds of {requests} requests")
    for heading in ("variant", "concurrency", "p50 ms", "p95 ms", "requests/s"):
        table.add_column(heading, justify="left" if heading == "variant" else "right")
    seen: dict[tuple[str, int], list[tuple[float, float, float]]] = {}
    with _asking(Cluster.named(cluster), VARIANTS[0]) as first, _asking(Cluster.named(cluster), VARIANTS[1]) as second:
        for ask in (first, second):
            _round(ask, requests=8, concurrency=8)  # warm up
        for _, (variant, ask), concurrency in itertools.product(range(rounds), zip(VARIANTS, (first, second), strict=True), (1, 8)):
            seen.setdefault((variant, concurrency), []).append(_round(ask, requests=requests, concurrency=concurrency))
    for (variant, concurrency), figures in seen.items():
        p50, p95, rate = (statistics.median(column) for column in zip(*figures, strict=True))
        table.add_row(variant, str(concurrency), f"{p50:.0f}", f"{p95:.0f}", f"{rate:.1f}")
    Console(width=100).print(table)


@contextmanager
def _asking(cluster: Cluster, variant: str) -> Iterator[Ask]:
    """A function that asks something new and returns the seconds it took."""
    with (
        cluster.forward(NAMESPACE, f"{NAME}-{variant}", HTTP_PORT) as address,
        VerticalClient(f"http://{address}", request=BlsRequest, response=BlsResponse, model=MODEL, timeout=120) as client,
    ):

        def ask() -> float:
            begun = time.perf_counter()
            client.infer(BlsRequest(name=f"COPPER CRANE {next(_numbers)}", address=["46 mill street"]))
            return time.perf_counter() - begun

        yield ask


def _round(ask: Ask, *, requests: int, concurrency: int) -> tuple[float, float, float]:
    """p50 and p95 in milliseconds, requests per second."""
    begun = time.perf_counter()
    with ThreadPoolExecutor(concurrency) as pool:
        took = sorted(pool.map(lambda _: ask(), range(requests)))
    wall = time.perf_counter() - begun
    return 1000 * statistics.median(took), 1000 * took[int(0.95 * (len(took) - 1))], requests / wall


if __name__ == "__main__":
    typer.run(main)
