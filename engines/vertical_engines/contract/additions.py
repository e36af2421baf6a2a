"""Releases, flags and GPUs that an installation adds to the matrix: checked, joined, and handed on to images that do not have them."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from vertical_engines.contract.toolchains import VERSIONED_BY, Matrix, Release, Toolchains, matrix
from vertical_engines.contract.versions import Version


class BadToolchains(ValueError):
    """Additions that can't be used: one fault a line, each with its place in the file."""


def extended(content: Any, *, base: Matrix | None = None) -> Matrix:
    """The matrix that is built in (or `base`) with additions in the format of `toolchains.json`. Raises BadToolchains.

    Additions never change what is built in: a release, flag or GPU of the same name is a fault.
    """
    known = (base or matrix()).file
    if not isinstance(content, Mapping):
        raise BadToolchains("expected a map with releases, flags, parameters, architectures or gpus")
    try:
        added = Toolchains.model_validate(content)
    except ValidationError as error:
        raise BadToolchains("\n".join(f"{_place(item['loc'])}: {_words(item)}" for item in error.errors(include_url=False))) from None
    faults = list(_faults(added, known))
    if faults:
        raise BadToolchains("\n".join(faults))
    return Matrix(joined(known, added))


def joined(known: Toolchains, added: Toolchains) -> Toolchains:
    """Both in one, releases of the additions last."""
    flags = {backend: {**known.flags.get(backend, {}), **added.flags.get(backend, {})} for backend in {**known.flags, **added.flags}}
    parameters = {
        backend: {**known.parameters.get(backend, {}), **added.parameters.get(backend, {})}
        for backend in {**known.parameters, **added.parameters}
    }
    return Toolchains(
        releases=(*known.releases, *added.releases),
        flags=flags,
        parameters=parameters,
        architectures={**known.architectures, **added.architectures},
        gpus={**known.gpus, **added.gpus},
        scripts={**known.scripts, **added.scripts},
    )


def needed_for(row: Release, known: Matrix, *, product: str | None = None) -> Toolchains | None:
    """What an image lacks to know a release, and the GPU that it builds for: None when all of it is built in."""
    built_in = matrix()
    gpu = known.gpu(product) if product and not built_in.gpu(product) else None
    architectures = known.file.architectures
    gpus = {product: gpu} if gpu and product else {}
    lacking = {gpu.sm: architectures[gpu.sm]} if gpu and gpu.sm in architectures and gpu.sm not in built_in.file.architectures else {}
    if built_in.release(backend=row.backend, name=row.release):
        return Toolchains(gpus=gpus, architectures=lacking) if gpus else None
    flags, parameters = (
        {name: history for name, history in mine.get(row.backend, {}).items() if name not in theirs.get(row.backend, {})}
        for mine, theirs in ((known.file.flags, built_in.file.flags), (known.file.parameters, built_in.file.parameters))
    )
    return Toolchains(
        releases=(row,),
        flags={row.backend: flags} if flags else {},
        parameters={row.backend: parameters} if parameters else {},
        scripts={since: scripts for since, scripts in known.file.scripts.items() if since not in built_in.file.scripts},
        gpus=gpus,
        architectures=lacking,
    )


def _faults(added: Toolchains, known: Toolchains) -> Iterator[str]:
    rows = {(row.backend, row.release) for row in known.releases}
    for number, row in enumerate(added.releases):
        place = f"releases[{number}]"
        if (row.backend, row.release) in rows:
            yield f"{place}: {row.backend} {row.release} is there already: give it another name, or leave it out"
        rows.add((row.backend, row.release))
        yield from _version_faults(row, place)
    for name, mine, theirs in (("flags", added.flags, known.flags), ("parameters", added.parameters, known.parameters)):
        for backend, histories in mine.items():
            for key in histories.keys() & theirs.get(backend, {}).keys():
                yield f"{name}.{backend}.{key}: is built in: leave it out"
    for name, given, there in (("gpus", added.gpus, known.gpus), ("architectures", added.architectures, known.architectures)):
        for entry in given:
            if entry in there:
                yield f"{name}.{entry}: is built in: leave it out"
    architectures = {*known.architectures, *added.architectures}
    for product, gpu in added.gpus.items():
        if gpu.sm not in architectures:
            yield f"gpus.{product}.sm: {gpu.sm} is no known architecture (75 is compute capability 7.5): correct it, or add it"


def _version_faults(row: Release, place: str) -> Iterator[str]:
    program = VERSIONED_BY[row.backend]
    text = row.versions.get(program)
    if text is None:
        yield f"{place}.versions.{program}: missing: it decides which flags the release knows"
        return
    try:
        Version.of(text)
    except ValueError as error:
        yield f"{place}.versions.{program}: {error}"


def _place(location: tuple[int | str, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".") or "file"


def _words(item: Mapping[str, Any]) -> str:
    number = item["type"] == "string_type" and isinstance(item["input"], int | float)
    return f"{item['msg']} (quote it: 26.10 without quotes is a number)" if number else str(item["msg"])
