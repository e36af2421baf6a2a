"""Real requests to both variants: what was asked, what came back, how long it took and which engine answered."""

import time

from rich.console import Console
from rich.table import Table

from tests.cluster.cluster import Cluster
from vertical_engines.client import VerticalClient
from vertical_engines.contract.serving import HTTP_PORT
from verticals.poi_matching.schemas import BlsRequest, BlsResponse

MODEL = "poi_matching_bls"
VARIANTS = ("realtime", "background")
WIDTH = 118
"""Characters that a row needs."""

RECEIPTS = (
    ("a name with typos and a phone", BlsRequest(name="COPPR CRANE GRIL", tel=["555 984 0001"])),
    ("a cut-off name, part of the address", BlsRequest(name="okoros caf", address=["46 mill st", "port maren"])),
    ("a business number and no name", BlsRequest(biznum="7307300002", address=["chapel ln 148"])),
    ("a shop of another city", BlsRequest(name="Zanzibar Tile Outlet", address=["1 Harbour Way, Elsewhere"])),
    ("the first one again", BlsRequest(name="COPPR CRANE GRIL", tel=["555 984 0001"])),
)
"""What a receipt scanner might have read; the places are in engines/verticals/poi_matching/data."""


def converse(cluster: Cluster, *, namespace: str, service: str) -> None:
    """Ask each variant everything and print a table. Raises VerticalError when a variant does not answer."""
    table = Table(title=f"{service}: the same receipts to both variants", title_justify="left")
    for heading in ("variant", "receipt", "place", "score", "SLM says", "ms", "engine"):
        table.add_column(heading, justify="right" if heading in ("score", "ms") else "left")
    for variant in VARIANTS:
        with (
            cluster.forward(namespace, f"{service}-{variant}", HTTP_PORT) as address,
            VerticalClient(f"http://{address}", request=BlsRequest, response=BlsResponse, model=MODEL) as client,
        ):
            for question, receipt in RECEIPTS:
                begun = time.perf_counter()
                answer = client.infer(receipt)
                took = 1000 * (time.perf_counter() - begun)
                place = f"{answer.name} ({answer.place_id})" if answer.matched else "no place matches"
                table.add_row(variant, question, place, f"{answer.score:.2f}", answer.generator_vote, f"{took:.0f}", answer.engine)
        table.add_section()
    console = Console()
    Console(width=max(console.width, WIDTH)).print(table)  # where output goes to a file the width is 80, and every cell would wrap
