"""The table from a process's end to a reason: each row with the words that the real thing was seen to say."""

import signal

import pytest

from vertical_engines.builders.child import Ended
from vertical_engines.builders.translation import Circumstances, translate
from vertical_engines.contract.build import EXIT_RETRYABLE, EXIT_USER_ERROR
from vertical_engines.contract.reasons import REASONS, Reason
from vertical_engines.failure import RETRYABLE, Failure

ENDS = {
    "killed": (-signal.SIGKILL, "", Reason.BUILD_OUT_OF_MEMORY, EXIT_RETRYABLE, "raise resources.limits.memory"),
    "python": (1, "MemoryError", Reason.BUILD_OUT_OF_MEMORY, EXIT_RETRYABLE, "412.3 MB"),
    "native": (-signal.SIGABRT, "terminate called after throwing 'std::bad_alloc'", Reason.BUILD_OUT_OF_MEMORY, EXIT_RETRYABLE, "536.9 MB"),
    "full": (1, "RuntimeError: basic_ios::clear: iostream error", Reason.STORE_FULL, EXIT_RETRYABLE, "about 98.0 MB needed, 1.2 MB free"),
    "read-only": (
        1,
        "Exception during model serialization Check 'bin_file' failed at src/core/src/pass/serialize.cpp:124:\n"
        'Can\'t open bin file: "/store/openvino_model.bin"',
        Reason.STORE_UNAVAILABLE,
        EXIT_RETRYABLE,
        "mounted read-write",
    ),
    "unknown architecture": (1, "IndexError: unordered_map::at", Reason.MODEL_INVALID, EXIT_USER_ERROR, "a.gguf can't be read"),
    "no gguf": (1, "Failed to open '/x/model.gguf' with gguf_open", Reason.MODEL_INVALID, EXIT_USER_ERROR, "can't be opened"),
    "crash": (-signal.SIGSEGV, "", Reason.BUILD_FAILED, EXIT_RETRYABLE, "crashed in native code"),
    "old cpu": (-signal.SIGILL, "", Reason.BUILD_FAILED, EXIT_RETRYABLE, "choose other nodes"),
    "unknown": (7, "something new", Reason.BUILD_FAILED, EXIT_RETRYABLE, "conversion ended with exit code 7"),
    "unknown signal": (-signal.SIGTERM, "", Reason.BUILD_FAILED, EXIT_RETRYABLE, "signal SIGTERM"),
}


@pytest.mark.parametrize(("code", "words", "reason", "exit_code", "expected"), ENDS.values(), ids=ENDS.keys())
def test_every_end_becomes_a_reason_with_what_to_do(code: int, words: str, reason: Reason, exit_code: int, expected: str) -> None:
    ended = Ended(code=code, tail=("before", *words.splitlines()), peak=412_300_000)
    about = Circumstances(doing="conversion", source="a.gguf", needed=98_000_000, free=1_200_000, limit=536_870_912)
    failure = translate(ended, about)
    assert (failure.reason, failure.exit_code) == (reason, exit_code)
    assert expected in failure.message
    assert failure.log == ended.tail


def test_a_failed_smoke_test_is_a_failed_verification_unless_the_words_say_more() -> None:
    def smoke(code: int, *tail: str) -> Failure:
        ended = Ended(code=code, tail=tail, peak=0)
        return translate(ended, Circumstances(doing="smoke test", source="the built engine", otherwise=Reason.VERIFICATION_FAILED))

    assert smoke(1, "RuntimeError: no such input").reason is Reason.VERIFICATION_FAILED
    assert smoke(1, "std::bad_alloc").reason is Reason.BUILD_OUT_OF_MEMORY
    assert "limit is not set" in smoke(-signal.SIGKILL).message


def test_reasons_of_failures_are_in_the_documented_enumeration() -> None:
    assert set(REASONS) >= RETRYABLE
    for reason in REASONS:
        assert Failure(reason, "x").exit_code == (EXIT_RETRYABLE if reason in RETRYABLE else EXIT_USER_ERROR)
