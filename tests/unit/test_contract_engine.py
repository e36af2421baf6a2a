"""The engine key and what crosses the border between operator and images."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from vertical_engines.contract.build import TERMINATION_MESSAGE_LIMIT, BuildFailure, BuildOutcome, BuildRequest
from vertical_engines.contract.engine import EngineIdentity, model_version, short_key
from vertical_engines.contract.manifest import EngineFile, Manifest, SmokeTest
from vertical_engines.contract.reasons import REASONS, Reason
from vertical_engines.contract.toolchains import release, releases

IDENTITY: dict[str, Any] = {
    "source": {"huggingFace": {"repository": "a/b", "revision": "main"}},
    "revision": "1",
    "weights": "source",
    "build": {
        "maxInputLen": 512,
        "maxOutputLen": 32,
        "maxSeqLen": 544,
        "maxBatchSize": 1,
        "maxNumTokens": 4096,
        "kvLayout": "contiguous",
        "pluginConfig": {"gemm_plugin": "auto"},
    },
    "toolchain": {"backend": "TensorRTLLM", "release": "24.09", "image": "engines:24.09"},
    "accelerator": {"product": "Tesla-T4", "count": 1},
}
STORED_KEY = "edf174ee8d65f8da2a05b156208d927b3671f2008e843b1c2b776431e5147dd0"


def changed(path: str, value: Any) -> EngineIdentity:
    """IDENTITY with one field, given as a dotted path, set to another value."""
    document = json.loads(json.dumps(IDENTITY))
    *parents, last = path.split(".")
    place = document
    for parent in parents:
        place = place[parent]
    place[last] = value
    return EngineIdentity.model_validate(document)


KEY = EngineIdentity.model_validate(IDENTITY).key()


def test_the_key_of_a_stored_identity_never_changes() -> None:
    """A store holds engines for years: a change of this key rebuilds every one of them. Raise CONTRACT_VERSION when that is wanted."""
    assert KEY == STORED_KEY


CONTENT = {
    "source.huggingFace.repository": "a/c",
    "source.huggingFace.revision": "0123abc",
    "source.huggingFace.path": "gguf",
    "source.huggingFace.files": ["*.gguf"],
    "source": {"objectStore": {"uri": "s3://models/a"}},
    "revision": "2",
    "weights": "float16",
    "build.maxInputLen": 513,
    "build.maxOutputLen": 33,
    "build.maxSeqLen": 545,
    "build.maxBatchSize": 2,
    "build.maxBeamWidth": 2,
    "build.maxNumTokens": None,
    "build.optNumTokens": 1024,
    "build.kvLayout": "paged",
    "build.pluginConfig": {"gemm_plugin": "float16"},
    "toolchain.release": "24.08",
    "toolchain.image": "engines:other",
    "toolchain.backend": "TensorRTLLMPyTorch",
    "accelerator": None,
    "accelerator.product": "NVIDIA-L4",
    "accelerator.count": 2,
}


@pytest.mark.parametrize(("path", "value"), CONTENT.items())
def test_whatever_changes_the_bytes_changes_the_key(path: str, value: Any) -> None:
    assert changed(path, value).key() != KEY


def test_the_order_of_keys_and_the_spelling_of_fields_do_not_matter() -> None:
    backwards = {name: IDENTITY[name] for name in reversed(IDENTITY)}
    assert EngineIdentity.model_validate(backwards).key() == KEY
    assert EngineIdentity.model_validate_json(EngineIdentity.model_validate(IDENTITY).to_json()).key() == KEY


def test_a_version_number_of_triton_follows_from_the_key() -> None:
    assert model_version("0" * 64) == 1
    assert model_version("f" * 64) == 0xFFFFFFFFFFFFFFFF % (2**31 - 1) + 1
    assert all(1 <= model_version(f"{number:064x}"[::-1]) <= 2**31 - 1 for number in range(500))
    assert short_key("0123456789abcdef") == "0123456789"


def test_unknown_fields_are_refused_on_either_side() -> None:
    with pytest.raises(ValidationError, match="extra"):
        BuildRequest.model_validate({"key": KEY, "identity": IDENTITY, "extra": 1})
    with pytest.raises(ValidationError):
        changed("accelerator.count", 0)


def manifest(**changes: Any) -> Manifest:
    files = [EngineFile(path="a.bin", size=3, sha256="0" * 64), EngineFile(path="b.bin", size=4, sha256="1" * 64)]
    whole: dict[str, Any] = {"key": KEY, "identity": IDENTITY, "files": files, "built_at": "2026-01-01T00:00:00Z", "build_seconds": 1.26}
    return Manifest.model_validate(whole | changes)


def test_a_summary_fits_and_tells_whether_the_engine_was_tried() -> None:
    summary = manifest(smoke_test=SmokeTest(prompt="a", text="b", tokens=1, seconds=0.1)).summary()
    assert (summary.size_bytes, summary.build_seconds, summary.verified) == (7, 1.3, True)
    assert manifest().summary().verified is False
    assert summary.manifest_digest != manifest().digest()
    outcome = BuildOutcome(manifest=summary)
    assert BuildOutcome.from_termination_message(outcome.to_termination_message()) == outcome


@pytest.mark.parametrize("letter", ["x", "é", "\n", '"'])
def test_a_long_failure_is_cut_to_what_the_kubelet_keeps(letter: str) -> None:
    log = [f"{number} {letter * 300}" for number in range(40)]
    text = BuildOutcome(failure=BuildFailure(reason=Reason.BUILD_FAILED, message="what to do", log=log)).to_termination_message()
    assert len(text.encode()) <= TERMINATION_MESSAGE_LIMIT
    outcome = BuildOutcome.from_termination_message(text)
    assert outcome
    assert outcome.failure
    assert outcome.failure.message == "what to do"
    assert outcome.failure.log == log[-len(outcome.failure.log) :], "the last lines are the ones that tell"
    assert outcome.failure.log


def test_a_message_longer_than_the_limit_is_cut_itself() -> None:
    text = BuildOutcome(failure=BuildFailure(reason=Reason.BUILD_FAILED, message="é" * 10_000)).to_termination_message()
    assert len(text.encode()) <= TERMINATION_MESSAGE_LIMIT
    assert BuildOutcome.from_termination_message(text)


@pytest.mark.parametrize("text", ["", "{}", "Killed", "[]", '{"manifest": null}', '{"failure": {"reason": "NoSuch", "message": ""}}'])
def test_what_is_no_outcome_reads_as_none(text: str) -> None:
    assert BuildOutcome.from_termination_message(text) is None


def test_every_reason_says_what_it_means_and_what_to_do() -> None:
    assert set(REASONS) == set(Reason)
    assert all(meaning.endswith(".") and todo.endswith(".") for meaning, todo in REASONS.values())


def test_the_matrix_has_one_row_a_release() -> None:
    rows = releases()
    assert len({(row.backend, row.release) for row in rows}) == len(rows)
    openvino = release(backend="OpenVINO", name="2026.4")
    assert openvino
    assert openvino.cpu_only
    assert release(backend="OpenVINO", name="24.09") is None
