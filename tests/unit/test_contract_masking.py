"""No secret in a line that is kept, and nothing else masked."""

import pytest

from vertical_engines.contract.masking import kept_line, masked

SECRETS = {
    "hub token": ("401 for hf_AbCdEfGhIjKlMnOpQrStUvWx", "hf_AbCd"),
    "address": ("GET https://robot:s3cr3t@mirror.example.com/models failed", "s3cr3t"),
    "header": ("Authorization: Bearer abc.def-123", "abc.def"),
    "header as data": ("{'authorization': 'Basic dXNlcjpwYXNz'}", "dXNlcjpwYXNz"),
    "variable": ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "wJalr"),
    "key id": ("using AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    "signed address": ("https://s3/x?X-Amz-Signature=0123456789abcdef&part=1", "0123456789abcdef"),
    "long token": ('token: "0123456789abcdef"', "0123456789abcdef"),
    "password": ("--password=hunter2", "hunter2"),
    "web token": ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc", "eyJzdWIi"),
}
PLAIN = (
    "--max_num_tokens 4096",
    "eos_token: </s>",
    "tokens_per_block=64",
    "https://mirror.example.com/models",
    "tokenizer: LlamaTokenizerFast",
)


@pytest.mark.parametrize(("line", "secret"), SECRETS.values(), ids=SECRETS.keys())
def test_secrets_are_masked(line: str, secret: str) -> None:
    assert secret in line
    assert secret not in masked(line)
    assert "***" in masked(line)


@pytest.mark.parametrize("line", PLAIN)
def test_what_is_no_secret_stays(line: str) -> None:
    assert masked(line) == line


def test_a_secret_at_the_limit_is_not_cut_in_two_and_shown() -> None:
    assert kept_line("x" * 95 + " hf_AbCdEfGhIjKlMnOpQrStUvWx", limit=100) == "x" * 95 + " ***"


def test_of_a_progress_bar_the_last_state_is_kept() -> None:
    assert kept_line("10%\r 50%\r100% done\n", limit=100) == "100% done"
