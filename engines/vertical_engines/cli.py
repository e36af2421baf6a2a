"""The command line of the images: names and options only; each command's work is imported when that command runs."""

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from vertical_engines.contract.fetch import CREDENTIALS_PATH, HUB_CACHE_PATH, PROGRESS_PORT
from vertical_engines.contract.serving import (
    CONFIG_PATH,
    GUARD_PORT,
    HTTP_PORT,
    MODEL_PATH,
    PIPELINE_PATH,
    PYTHON_PATH,
    REPOSITORY_PATH,
    STORE_PATH,
)
from vertical_engines.schema_cli import schema

app = typer.Typer(
    name="vertical-engines", help="Builds, stores and serves engines inside a toolchain image.", no_args_is_help=True, add_completion=False
)

app.add_typer(schema, name="schema")

TERMINATION_LOG = "/dev/termination-log"


class OutputForm(str, Enum):
    """Forms of an answer."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


Store = Annotated[Path, typer.Option(help="Mount point of the engine store.")]
TerminationLog = Annotated[Path, typer.Option(help="File that the kubelet reads a container's last message from.")]


@app.callback()
def main() -> None:
    """Keeps the program a group of commands, however many there are."""


@app.command()
def fetch(
    model: Annotated[Path, typer.Option(help="Folder to fill: files/ and source.json.")] = Path(MODEL_PATH),
    credentials: Annotated[Path, typer.Option(help="Folder with the source's Secret.")] = Path(CREDENTIALS_PATH),
    hub_cache: Annotated[Path, typer.Option(help="Folder with a hub's cache, for offline use.")] = Path(HUB_CACHE_PATH),
    progress_port: Annotated[int, typer.Option(help="Port that shows the newest line of progress.")] = PROGRESS_PORT,
    termination_log: TerminationLog = Path(TERMINATION_LOG),
) -> None:
    """Fetch the model that VERTICAL_FETCH_REQUEST names from a hub or an object store, and verify it. Exit codes as for build."""
    from vertical_engines.commands.fetch import run_fetch

    raise typer.Exit(
        run_fetch(model=model, credentials=credentials, hub_cache=hub_cache, port=progress_port, termination_log=termination_log)
    )


@app.command()
def build(
    model: Annotated[Path, typer.Option(help="Folder with the model's files.")] = Path(MODEL_PATH),
    source_record: Annotated[Path | None, typer.Option(help="What fetch says that it fetched.")] = None,
    store: Store = Path(STORE_PATH),
    termination_log: TerminationLog = Path(TERMINATION_LOG),
    plan: Annotated[bool, typer.Option("--plan", help="Print the commands of conversion and build; run none of them.")] = False,
) -> None:
    """Build the engine that VERTICAL_BUILD_REQUEST asks for. Exit 0: it stands; 65: correct the request; 75: try again."""
    from vertical_engines.commands.build import run_build, run_plan

    if plan:
        raise typer.Exit(run_plan(model=model, store=store, termination_log=termination_log))
    raise typer.Exit(run_build(model=model, source_record=source_record, store=store, termination_log=termination_log))


@app.command()
def remove(
    key: Annotated[str, typer.Option(help="Engine key, 64 hex digits.")],
    store: Store = Path(STORE_PATH),
    termination_log: TerminationLog = Path(TERMINATION_LOG),
) -> None:
    """Remove an engine and what is left of its builds from the store. An engine that is not there counts as removed."""
    from vertical_engines.commands.remove import run_remove

    raise typer.Exit(run_remove(key=key, store=store, termination_log=termination_log))


@app.command()
def pull(
    key: Annotated[str, typer.Option(help="Engine key, 64 hex digits.")],
    reference: Annotated[str, typer.Option(help="Digest of the artefact (sha256:...), or a tag.")],
    store: Store = Path(STORE_PATH),
    termination_log: TerminationLog = Path(TERMINATION_LOG),
) -> None:
    """Pull an engine from the registry that VERTICAL_ENGINE_STORE names, and verify it. Exit codes as for build."""
    from vertical_engines.commands.pull import run_pull

    raise typer.Exit(run_pull(key=key, reference=reference, store=store, termination_log=termination_log))


@app.command()
def assemble(
    config: Annotated[Path, typer.Option(help="Folder with the operator's plan and rendered config.pbtxt.")] = Path(CONFIG_PATH),
    pipeline: Annotated[Path, typer.Option(help="Folder with the pipeline's models.")] = Path(PIPELINE_PATH),
    repository: Annotated[Path, typer.Option(help="Model repository to fill; what is in it is removed.")] = Path(REPOSITORY_PATH),
    python: Annotated[Path, typer.Option(help="Folder for the pipeline's packages; what is in it is removed.")] = Path(PYTHON_PATH),
    store: Store = Path(STORE_PATH),
    termination_log: TerminationLog = Path(TERMINATION_LOG),
) -> None:
    """Check the engine against this pod and fill the model repository. Exit 65: the termination message says what to correct."""
    from vertical_engines.commands.assemble import run_assemble
    from vertical_engines.repository.assembly import Places

    places = Places(config=config, pipeline=pipeline, repository=repository, python=python)
    raise typer.Exit(run_assemble(places=places, store=store, termination_log=termination_log))


@app.command()
def toolchains(
    output: Annotated[
        OutputForm, typer.Option("--output", "-o", help="A table, JSON with every flag, or the page of the docs.")
    ] = OutputForm.TEXT,
) -> None:
    """Print the compatibility matrix: releases with their versions, GPUs and batching; as JSON with the flags that each knows."""
    from vertical_engines.commands.toolchains import show_toolchains

    raise typer.Exit(show_toolchains(output.value))


@app.command()
def encoder(
    source: Annotated[Path, typer.Option(help="Sentence-transformers folder of a BERT: config.json, model.safetensors, tokenizer.json.")],
    target: Annotated[Path, typer.Option(help="Version folder of the Triton model, such as models/encoder/1; new or empty.")],
    weights: Annotated[str, typer.Option(help="float16 or float32.")] = "float16",
    termination_log: TerminationLog = Path(TERMINATION_LOG),
) -> None:
    """Build a sentence encoder for the model `vertical_engines.models.openvino_encoder`. Exit 65: the source has to be corrected."""
    from vertical_engines.commands.encoder import run_encoder

    raise typer.Exit(run_encoder(source=source, target=target, weights=weights, termination_log=termination_log))


@app.command()
def guard(
    config: Annotated[Path, typer.Option(help="Folder with the operator's plan.")] = Path(CONFIG_PATH),
    repository: Annotated[Path, typer.Option(help="Model repository, for the canary of the entry model.")] = Path(REPOSITORY_PATH),
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "0.0.0.0",
    http_port: Annotated[int, typer.Option(help="Port of the HTTP front.")] = HTTP_PORT,
    admin_port: Annotated[int, typer.Option(help="Port of the probes and the drain.")] = GUARD_PORT,
    termination_log: TerminationLog = Path(TERMINATION_LOG),
) -> None:
    """Answer probes from real inferences, front HTTP, drain before shutdown. Runs until SIGTERM."""
    from vertical_engines.commands.guard import run_guard
    from vertical_engines.guard.sidecar import Addresses

    addresses = Addresses(host=host, http_port=http_port, admin_port=admin_port)
    raise typer.Exit(run_guard(config=config, repository=repository, addresses=addresses, termination_log=termination_log))


store_commands = typer.Typer(help="What stands in an engine store on a volume.", no_args_is_help=True)
app.add_typer(store_commands, name="store")

AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]


@store_commands.command("list")
def store_list(store: Store = Path(STORE_PATH), as_json: AsJson = False) -> None:
    """List the engines of the store, with sizes and what is wrong with them. Exit 1 when something is."""
    from vertical_engines.commands.store import run_list

    raise typer.Exit(run_list(store, as_json=as_json))


@store_commands.command("verify")
def store_verify(
    key: Annotated[list[str] | None, typer.Option(help="Engine key; may be repeated. Left out: all.")] = None,
    store: Store = Path(STORE_PATH),
    as_json: AsJson = False,
) -> None:
    """Read every byte of the engines and hold it against their manifests. Exit 1 when one is damaged or missing."""
    from vertical_engines.commands.store import run_verify

    raise typer.Exit(run_verify(store, keys=key or [], as_json=as_json))


@store_commands.command("prune")
def store_prune(
    keep: Annotated[list[str] | None, typer.Option(help="Key of an Engine that uses the store; may be repeated.")] = None,
    keep_nothing: Annotated[bool, typer.Option("--keep-nothing", help="There is no Engine: everything may go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Remove; without it, only say what would be.")] = False,
    store: Store = Path(STORE_PATH),
) -> None:
    """Remove engines that no Engine names, and leftovers of dead builds. What a build is at work on is left alone."""
    from vertical_engines.commands.store import run_prune

    raise typer.Exit(run_prune(store, keep=keep or [], keep_nothing=keep_nothing, yes=yes))


@app.command()
def serve(
    command: Annotated[list[str], typer.Argument(help="The server and its options, behind `--`.")],
    termination_log: TerminationLog = Path(TERMINATION_LOG),
) -> None:
    """Run a server as a child, hand signals on, and leave in the termination message why it ended. Its exit code is the server's."""
    from vertical_engines.commands.serve import run_serve

    raise typer.Exit(run_serve(command, termination_log=termination_log))


if __name__ == "__main__":
    app()
