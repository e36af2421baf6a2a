"""The command `build`: the request from the environment, one engine in the store, the outcome in the termination message."""

import os
import sys
import tempfile
from pathlib import Path

from pydantic import ValidationError

from vertical_engines.builders.building import build_engine
from vertical_engines.builders.selection import builder_for, known_builder
from vertical_engines.commands.ending import run_to_end
from vertical_engines.contract.build import REQUEST_VARIABLE, BuildOutcome, BuildRequest
from vertical_engines.contract.fetch import FetchedSource
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.progress import progress
from vertical_engines.store.opening import open_store


def read_request(text: str | None) -> BuildRequest:
    """The request, proven to carry the key that this image computes too. Raises `Failure` with InvalidSpec or UnknownToolchain."""
    if not text:
        raise Failure(Reason.INVALID_SPEC, f"{REQUEST_VARIABLE} is not set: it holds the build request as JSON")
    try:
        request = BuildRequest.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the document"
        raise Failure(
            Reason.INVALID_SPEC, f"{REQUEST_VARIABLE} is not a build request that this image knows: {where}: {first['msg']}"
        ) from None
    if (key := request.identity.key()) != request.key:
        raise Failure(
            Reason.UNKNOWN_TOOLCHAIN,
            f"operator and image disagree on the engine key ({request.key[:10]} and {key[:10]}): they come from different releases; "
            "use the toolchain image of the operator's release",
        )
    return request


def read_source_record(path: Path | None) -> FetchedSource | None:
    """What `fetch` left; None for a source that is copied or mounted."""
    return FetchedSource.model_validate_json(path.read_text(encoding="utf-8")) if path else None


def run_build(*, model: Path, source_record: Path | None = None, store: Path, termination_log: Path) -> int:
    """Build, or find built; returns the exit code."""
    say = progress()

    def work() -> BuildOutcome:
        request = read_request(os.environ.get(REQUEST_VARIABLE))
        builder = builder_for(request.identity.toolchain.backend, request.known)
        fetched = read_source_record(source_record)
        engines = open_store(store, say=say)
        manifest = build_engine(request, builder=builder, model=model, store=engines, fetched=fetched, say=say)
        summary = manifest.summary().model_copy(update={"artifact": engines.artifact(manifest.key)})
        return BuildOutcome(manifest=summary, store=engines.usage())

    return run_to_end(work, termination_log=termination_log, say=say)


def run_plan(*, model: Path, store: Path, termination_log: Path) -> int:
    """Print what a build would run, line by line, and run nothing of it; returns the exit code. No GPU and no store are needed."""
    say = progress()

    def work() -> None:
        request = read_request(os.environ.get(REQUEST_VARIABLE))
        builder = known_builder(request.identity.toolchain.backend, request.known)
        scratch = Path(tempfile.gettempdir(), f"build-{request.key[:10]}")
        for line in builder.plan(request.identity, model=model, folder=store / request.key, scratch=scratch):
            sys.stdout.write(f"{line}\n")

    return run_to_end(work, termination_log=termination_log, say=say)
