"""Where an engine's model came from, for its manifest; and the refusal of a source that gives other files than it gave before."""

import os
from collections.abc import Iterable, Sequence

from vertical_engines.builders.protocol import SourceModel
from vertical_engines.contract.build import BuildRequest
from vertical_engines.contract.engine import short_key
from vertical_engines.contract.fetch import FetchedSource
from vertical_engines.contract.frozen import digest
from vertical_engines.contract.manifest import EngineFile, Manifest
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.store.reading import file_digest


def source_files(source: SourceModel) -> list[EngineFile]:
    """The model files that a builder reads, with paths relative to the folder that holds them all."""
    root = os.path.commonpath([path.parent for path in source.files])
    found = [(path.relative_to(root).as_posix(), path) for path in source.files]
    return [EngineFile(path=name, size=path.stat().st_size, sha256=file_digest(path)) for name, path in sorted(found)]


def source_digest(files: Sequence[EngineFile]) -> str:
    """sha256 of the one model file, or of the names and sha256 of several."""
    return files[0].sha256 if len(files) == 1 else digest({file.path: file.sha256 for file in files})


def refuse_moved(request: BuildRequest, files: Sequence[EngineFile], *, fetched: FetchedSource | None, engines: Iterable[Manifest]) -> None:
    """Hold the model against the engines of the store that were built from the same source and revision. Raises ModelSourceMoved.

    So the variants of one service never mix two models, and a branch, a tag or an image that moved is noticed.
    Engines are the memory: with the last one of a source its past is forgotten.
    """
    for engine in engines:
        if (engine.identity.source, engine.identity.revision) != (request.identity.source, request.identity.revision):
            continue
        before = {file.path: file.sha256 for file in engine.source_files}
        moved = [file.path for file in files if before.get(file.path, file.sha256) != file.sha256]
        if not moved:
            continue
        was, now = engine.source_revision, fetched.revision if fetched else None
        commits = f" (commit {was} then, {now} now)" if was and now and was != now else ""
        raise Failure(
            Reason.MODEL_SOURCE_MOVED,
            f"the source has another {moved[0]} than when engine {short_key(engine.key)} was built from it at {engine.built_at}{commits}: "
            "name a commit or digest as the source's revision, or change spec.model.revision to build everything from the new files",
        )
