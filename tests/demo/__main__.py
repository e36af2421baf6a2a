"""Command line of the demo."""

import sys
from typing import Annotated

import typer

from tests.cluster.bootstrap import bring_up
from tests.cluster.cluster import Cluster
from tests.cluster.errors import ClusterError
from tests.cluster.images import ensure_images
from tests.cluster.operator_install import install_operator
from tests.cluster.progress import console
from tests.cluster.provider import ProviderName
from tests.demo.conversation import converse
from tests.demo.look_around import explain
from tests.demo.service import NAME, NAMESPACE, await_ready, deploy

CLUSTER = "vertical"
app = typer.Typer(add_completion=False, no_args_is_help=True, help="One VerticalService becomes two running variants.")
Which = Annotated[ProviderName | None, typer.Option(help="Default: kind where a Docker or Podman engine answers, else native.")]


@app.command()
def up(provider: Which = None) -> None:
    """Cluster, images, operator, example; then real requests to both variants. Leaves everything running."""
    cluster = Cluster.named(CLUSTER, provider=provider)
    bring_up(cluster)
    ensure_images(cluster)
    install_operator(cluster)
    deploy(cluster)
    await_ready(cluster)
    converse(cluster, namespace=NAMESPACE, service=NAME)
    explain(cluster)


@app.command()
def down(provider: Which = None) -> None:
    """End the demo's cluster and remove every trace of it. Binaries and images stay in the cache."""
    Cluster.named(CLUSTER, provider=provider).provider.down()


def main() -> None:
    """Entry point: what went wrong is a message for people, not a traceback."""
    try:
        app()
    except (ClusterError, TimeoutError) as error:
        console.print(f"[red]error:[/red] {error}")
        sys.exit(1)


if __name__ == "__main__":
    main()
