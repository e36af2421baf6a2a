"""Runs the same requests against the fake and a real server and lists where they differ; there should be no such place."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vertical_engines.sdk.dtypes import NUMPY_DTYPES, STRING, Array
from vertical_engines.sdk.errors import ErrorCode
from vertical_engines.sdk.testing.conformance_models import MODELS, NUMERIC_TYPES, config_of
from vertical_engines.sdk.testing.server import FakePbUtils
from vertical_engines.sdk.testing.tensors import FakeInferenceError

CALL_SECONDS = 30.0


@dataclass(frozen=True)
class Case:
    """One request. `options`: request_id, correlation_id, timeout (µs), requested_output_names."""

    name: str
    model: str
    inputs: Mapping[str, Array]
    options: Mapping[str, Any] = field(default_factory=dict)
    exact: bool = True
    """Whether the words of an error are compared as well, beside its code."""


@dataclass(frozen=True)
class Outcome:
    """What the client saw: outputs as plain lists by name with their data type, or code and message."""

    outputs: tuple[tuple[str, str, Any], ...] = ()
    code: ErrorCode | None = None
    message: str = ""


Run = Callable[[Case], Outcome]


def text(*words: Any) -> Array:
    array = np.empty(len(words), object)
    array[:] = words
    return array


def cases() -> list[Case]:
    """Every kind of request: good, malformed, failing in a model, failing in a child, failing in the core."""
    one, number = {"text": text("é")}, np.array([3], np.int32)
    found = [
        Case("full", "child", {**one, "number": number, "words": text("a", "")}),
        Case("absent optionals", "child", one),
        Case("empty list", "child", {**one, "words": text()}),
        Case("requested outputs", "child", {**one, "number": number}, {"requested_output_names": ["number"]}),
        Case("unknown output", "child", one, {"requested_output_names": ["other"]}),
        Case("no inputs", "child", {}),
        Case("unknown input", "child", {**one, "other": text("x")}),
        Case("required input missing", "child", {"number": number}),
        Case("wrong data type", "child", {"text": np.array([1.0])}),
        Case("wrong integer type", "child", {**one, "number": np.array([1], np.int64)}),
        Case("wrong size", "child", {"text": text("a", "b")}),
        Case("wrong rank", "child", {"text": text("a").reshape(1, 1)}),
        Case("too long", "public", {"text": text("x" * 21)}),
        Case("not UTF-8", "public", {"text": text(b"\xff")}),
        Case("unknown model", "nobody", one),
        Case("every type", "types", {name: np.arange(4).astype(dtype).reshape(2, 2) if name == "fp32" else np.arange(3).astype(dtype)
                                     for name, dtype in NUMERIC_TYPES.items()}),
        Case("fixed size", "types", {name: np.zeros((2, 3), dtype) if name == "fp32" else np.zeros(1, dtype)
                                     for name, dtype in NUMERIC_TYPES.items()}),
        Case("async", "both", one),
        Case("async child fails", "both", {"text": text("bad")}),
        Case("decoupled over BLS", "joiner", {"text": text("a b c")}),
        Case("decoupled fails over BLS", "joiner", {"text": text("a bad c")}),
        Case("decoupled without stream", "words", one),
        Case("plain call of a decoupled child", "caller", {"text": text("stream")}),
        Case("unknown child", "caller", {"text": text("missing")}),
        Case("inherited options", "passing", one, {"request_id": "r-1", "correlation_id": 7, "timeout": 30_000_000}),
    ]  # fmt: skip
    for model in ("rows", "columns"):
        three = text("a", "b", "c").reshape(3, 1)
        found += [
            Case(f"three {model}", model, {"text": three, "number": np.array([[1], [2], [3]], np.int32)}),
            Case(f"a bad row of {model}", model, {"text": text("a", "x" * 21).reshape(2, 1)}),
            Case(f"too many {model}", model, {"text": text(*"abcde").reshape(5, 1)}),
            Case(f"uneven {model}", model, {"text": three, "number": np.array([[1]], np.int32)}, exact=False),
            Case(f"no row axis for {model}", model, {"text": text("a")}),
        ]
    found += [Case(f"{word} in a batched child", "batch_caller", {"text": text(word)}) for word in ("é", "bad", "crash")]
    failing = ["bad", "crash", "exit", "overflow", "type", *ErrorCode.__members__]
    found += [
        Case(f"{word} in {model}", model, {"text": text(word)}) for word in failing for model in ("child", "public", "caller", "threads")
    ]
    return found + [
        Case(f"raw {word}", "raw", {"text": text(word)}, exact=word != "few") for word in ("type", "shape", "undeclared", "none", "few")
    ]


def differences(chosen: list[Case], *, fake: Run, real: Run) -> list[str]:
    """One sentence per case in which the two differ."""
    found = []
    for case in chosen:
        faked, seen = fake(case), real(case)
        same_failure = not case.exact and faked.code is seen.code and faked.code is not None
        if faked != seen and not same_failure:
            found.append(f"{case.name}: the fake server gives {faked}, the real one {seen}")
    return found


@contextmanager
def fake_run() -> Iterator[Run]:
    """Cases against the fake server, with all models loaded."""
    with FakePbUtils() as fake:
        for name, model in MODELS.items():
            fake.load(model(), config_of(name))

        def run(case: Case) -> Outcome:
            try:
                return _outputs(fake.infer(case.model, case.inputs, **case.options))
            except FakeInferenceError as error:
                return Outcome(code=error.code, message=_plain(error.message))

        yield run


@contextmanager
def real_run(address: str) -> Iterator[Run]:
    """Cases against a real server over gRPC, which keeps every code; `address` is host:port."""
    import tritonclient.grpc as protocol

    wire = {dtype: "BYTES" if name == STRING else name.removeprefix("TYPE_") for name, dtype in NUMPY_DTYPES.items()}
    with protocol.InferenceServerClient(address) as client:

        def run(case: Case) -> Outcome:
            tensors = []
            for name, array in case.inputs.items():
                tensors.append(protocol.InferInput(name, list(array.shape), wire[array.dtype]))
                tensors[-1].set_data_from_numpy(array)
            options = dict(case.options)
            wanted = options.pop("requested_output_names", None)
            if "correlation_id" in options:
                options["sequence_id"] = options.pop("correlation_id")
            outputs = None if wanted is None else [protocol.InferRequestedOutput(name) for name in wanted]
            try:
                result = client.infer(case.model, tensors, outputs=outputs, client_timeout=CALL_SECONDS, **options)
            except protocol.InferenceServerException as error:
                return Outcome(code=_code(error), message=_plain(error.message() or ""))
            return _outputs({output.name: result.as_numpy(output.name) for output in result.get_response().outputs})

        yield run


def write_repository(
    folder: Path,
    *,
    models: Mapping[str, type[Any]] = MODELS,
    configs: Callable[[str], dict[str, Any]] = config_of,
    roots: Sequence[Path] = (),
) -> None:
    """Models as a Triton repository that imports this very copy of the package; `roots` come onto the module path as well."""
    from google.protobuf import json_format, text_format  # type: ignore[import-untyped]
    from tritonclient.grpc.model_config_pb2 import ModelConfig

    paths = [str(path) for path in (Path(__file__).resolve().parents[3], *roots)]
    for name, model in models.items():
        version = folder / name / "1"
        version.mkdir(parents=True)
        config = json_format.ParseDict(configs(name), ModelConfig())
        (folder / name / "config.pbtxt").write_text(text_format.MessageToString(config))
        source = f"import sys\n\nsys.path[:0] = {paths!r}\nfrom {model.__module__} import {model.__name__} as TritonPythonModel\n"
        (version / "model.py").write_text(source)


def _outputs(outputs: Mapping[str, Array]) -> Outcome:
    return Outcome(outputs=tuple((name, str(array.dtype), array.tolist()) for name, array in sorted(outputs.items())))


def _code(error: Any) -> ErrorCode:
    names = {"INVALID_ARGUMENT": "INVALID_ARG", "UNIMPLEMENTED": "UNSUPPORTED"}
    status = str(error.status()).removeprefix("StatusCode.")
    return ErrorCode(names.get(status, status))


def _plain(message: str) -> str:
    """Without request id, and without the names that come in the order of a hash table."""
    message = re.sub(r"^\[request id: [^\]]*\] ", "", message)
    head, hint, names = message.partition(" Got input(s) ")
    return head + hint + "".join(sorted(names))
