"""Builds one engine into a store, or finds that it stands there already: the same steps for every backend."""

import time
from datetime import datetime, timezone
from pathlib import Path

from vertical_engines.builders.host import instruction_set
from vertical_engines.builders.origin import refuse_moved, source_digest, source_files
from vertical_engines.builders.protocol import Builder
from vertical_engines.contract.build import BuildRequest
from vertical_engines.contract.engine import short_key
from vertical_engines.contract.fetch import FetchedSource
from vertical_engines.contract.manifest import Manifest, limits_text
from vertical_engines.progress import Say, megabytes
from vertical_engines.store.failures import EngineCorrupt, EngineMissing
from vertical_engines.store.protocol import EngineStore
from vertical_engines.store.reading import engine_files


def build_engine(
    request: BuildRequest, *, builder: Builder, model: Path, store: EngineStore, fetched: FetchedSource | None = None, say: Say
) -> Manifest:
    """The manifest of the engine, built by this call or an earlier one; `fetched` is what `fetch` said of the model. Raises `Failure`."""
    key, toolchain = request.key, request.identity.toolchain
    say(f"engine {short_key(key)}: {limits_text(request.identity.build)}, toolchain {toolchain.backend} {toolchain.release}")
    with store.hold(key):
        if standing := _standing(store, key=key, say=say):
            return standing
        started = time.monotonic()
        say("[1/5] checking the model")
        source = builder.check(request.identity, model=model)
        say(f"found {source.description}")
        model_files = source_files(source)
        refuse_moved(request, model_files, fetched=fetched, engines=store.engines())
        with store.stage(key, needed=source.needed) as staged:
            say(f"[2/5] building in {staged}")
            with store.writing():
                builder.convert(source, identity=request.identity, folder=staged, say=say)
            say("[3/5] loading the engine from its files and generating from it")
            smoke = builder.smoke_test(request.identity, folder=staged, say=say)
            if smoke:
                say(f"generated {smoke.tokens} tokens in {smoke.seconds} s: {smoke.prompt!r} -> {smoke.text!r}")
            say("[4/5] computing checksums")
            manifest = Manifest(
                key=key,
                identity=request.identity,
                files=engine_files(staged),
                versions=builder.versions(),
                source_digest=source_digest(model_files),
                source_revision=fetched.revision if fetched else None,
                source_files=model_files,
                gpu=builder.gpu(),
                host_isa=instruction_set(),
                smoke_test=smoke,
                built_at=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                build_seconds=round(time.monotonic() - started, 2),
            )
            say("[5/5] publishing")
            store.publish(staged, manifest)
        size = sum(file.size for file in manifest.files)
        say(f"engine {short_key(key)} stands in the store: {megabytes(size)} in {len(manifest.files)} files, {manifest.build_seconds} s")
        return manifest


def _standing(store: EngineStore, *, key: str, say: Say) -> Manifest | None:
    """The manifest of an engine that needs no build: here every byte is checked, since reuse may last for months."""
    try:
        manifest = store.open(key, digests=True)
    except EngineMissing:
        return None
    except EngineCorrupt as damage:
        say(f"building again: {damage.message}")
        return None
    say(f"engine {short_key(key)} stands in the store since {manifest.built_at}: nothing to build")
    return manifest
