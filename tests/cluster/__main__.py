"""Command line of the test cluster: `python -m tests.cluster up|down|status|run|load|images|kubeconfig`."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from tests.cluster.bootstrap import bring_up
from tests.cluster.cluster import Cluster
from tests.cluster.errors import ClusterError
from tests.cluster.images import ensure_images
from tests.cluster.progress import console, say
from tests.cluster.provider import ProviderName

app = typer.Typer(add_completion=False, no_args_is_help=True, help="A real Kubernetes for tests and the demo.")
Name = Annotated[str, typer.Option(help="Name of the cluster; clusters of different names do not see each other.")]
Which = Annotated[ProviderName | None, typer.Option(help="Default: kind where a Docker or Podman engine answers, else native.")]


@app.command()
def up(name: Name = "vertical", provider: Which = None) -> None:
    """Start the cluster, wait until it is usable."""
    cluster = Cluster.named(name, provider=provider)
    bring_up(cluster)
    say(f"cluster {name} is up: export KUBECONFIG={cluster.kubeconfig}")


@app.command()
def down(name: Name = "vertical", provider: Which = None) -> None:
    """End the cluster and remove every trace of it. Binaries and images stay in the cache."""
    Cluster.named(name, provider=provider).provider.down()


@app.command()
def status(name: Name = "vertical", provider: Which = None) -> None:
    """Say whether the cluster is up (exit code 1 when not), its nodes and what runs on it."""
    cluster = Cluster.named(name, provider=provider)
    if not cluster.provider.running():
        say(f"cluster {name} is down")
        raise typer.Exit(1)
    sys.stdout.write(f"KUBECONFIG={cluster.kubeconfig}\n{cluster.kubectl('get', 'nodes')}{cluster.kubectl('get', 'pods', '-A')}")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False})
def run(context: typer.Context, name: Name = "vertical", provider: Which = None) -> None:
    """Run a command in the cluster's network, with KUBECONFIG set and kubectl on PATH."""
    cluster = Cluster.named(name, provider=provider)
    argv = cluster.provider.inside(context.args)
    raise typer.Exit(subprocess.run(argv, env={**os.environ, **cluster.environment}, check=False).returncode)


@app.command()
def load(archives: list[Path], name: Name = "vertical", provider: Which = None) -> None:
    """Import image archives into the cluster."""
    Cluster.named(name, provider=provider).provider.load(archives)


@app.command()
def images(name: Name = "vertical", provider: Which = None) -> None:
    """Build the project's images where they changed, and load them into the cluster where it lacks them."""
    ensure_images(Cluster.named(name, provider=provider))


@app.command()
def kubeconfig(name: Name = "vertical", provider: Which = None) -> None:
    """Print the path of the kubeconfig."""
    sys.stdout.write(f"{Cluster.named(name, provider=provider).kubeconfig}\n")


def main() -> None:
    """Entry point: a ClusterError is a message for people, not a traceback."""
    try:
        app()
    except ClusterError as error:
        console.print(f"[red]error:[/red] {error}", markup=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
