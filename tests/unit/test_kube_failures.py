"""Answers of the API server become failures that say what to do next, in the server's words."""

import json

import pytest

from vertical_operator.kube.failures import MESSAGE_LIMIT, ClusterFailure, Conflict, Gone, Terminal, Transient, failure_of, no_answer


def status(message: str) -> str:
    return json.dumps({"kind": "Status", "status": "Failure", "message": message})


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        (400, "bad request", Terminal),
        (401, "Unauthorized", Transient),
        (403, 'pods is forbidden: User "x" cannot list', Terminal),
        (403, "is forbidden: unable to create new content in namespace place because it is being terminated", Gone),
        (404, "not found", Gone),
        (409, "the object has been modified", Conflict),
        (410, "The provided continue parameter is too old", Transient),
        (422, "Deployment is invalid: spec.x: Required value", Terminal),
        (429, "too many requests", Transient),
        (500, "etcdserver: request timed out", Transient),
        (503, "apiserver not ready", Transient),
        (504, "Timeout: request did not complete", Transient),
    ],
)
def test_code_decides_what_kind_of_failure_it_is(code: int, message: str, kind: type[ClusterFailure]) -> None:
    failure = failure_of(code, status(message), headers={})
    assert type(failure) is kind
    assert (failure.code, failure.message) == (code, message)


def test_retry_after_is_kept() -> None:
    failure = failure_of(429, "slow down", headers={"retry-AFTER": "7"})
    assert isinstance(failure, Transient)
    assert failure.retry_after == 7.0


def test_a_retry_after_that_is_a_date_is_ignored() -> None:
    failure = failure_of(503, "", headers={"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"})
    assert isinstance(failure, Transient)
    assert failure.retry_after is None


@pytest.mark.parametrize("body", ["", "<html>bad gateway</html>", "[1]", "null", "{}", '"text"'])
def test_any_body_gives_a_failure_with_a_message(body: str) -> None:
    assert failure_of(502, body, headers={}).message


def test_words_of_the_server_are_one_line_and_bounded() -> None:
    message = failure_of(422, status("line one\n  line two " + "x" * 5000), headers={}).message
    assert message.startswith("line one line two xxx")
    assert len(message) == MESSAGE_LIMIT


def test_no_answer_is_transient_and_names_the_error() -> None:
    assert no_answer(TimeoutError()).message == "no answer from the API server: TimeoutError"
    assert no_answer(OSError("refused")).code == 0
