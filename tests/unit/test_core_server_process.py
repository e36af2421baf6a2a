"""The shell around the server, run for real: how it passes on signals, exit codes and arguments."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from vertical_operator.core.render.triton import AS_CHILD

LISTENS = """
import signal, sys, time
def end(*_):
    print("draining", flush=True)
    time.sleep(0.5)
    print("drained", flush=True)
    sys.exit(7)
signal.signal(signal.SIGTERM, end)
print("up", flush=True)
while True:
    time.sleep(60)
"""
LOADS = 'import time; print("up", flush=True); time.sleep(60)'


@contextmanager
def server(program: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A program as the server's container starts it, up when it has printed a line."""
    command = ["/bin/sh", "-c", AS_CHILD, sys.executable, "-c", program, *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        yield process
    finally:
        process.kill()
        process.wait(10)


def test_a_server_that_does_not_listen_yet_ends_at_once() -> None:
    with server(LOADS) as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 128 + signal.SIGTERM


def test_a_server_that_listens_ends_in_its_own_time_and_its_exit_code_is_kept() -> None:
    with server(LISTENS) as process:
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=10)
        assert output == "draining\ndrained\n"
        assert process.returncode == 7


def test_a_second_signal_does_not_leave_the_server_alone() -> None:
    with server(LISTENS) as process:
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        assert process.stdout.readline() == "draining\n"
        process.send_signal(signal.SIGINT)
        process.wait(10)
        assert "drained\n" in process.stdout.read()


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ('print("up", flush=True)', 0),
        ('import sys; print("up", flush=True); sys.exit(65)', 65),
        ('import os; print("up", flush=True); os.kill(os.getpid(), 11)', 128 + 11),
        ('import sys; print("up", flush=True); sys.exit(sys.argv[1:] != ["a b", "--c=$HOME", "*"])', 0),
    ],
)
def test_exit_codes_and_arguments_are_the_servers(program: str, code: int) -> None:
    with server(program, "a b", "--c=$HOME", "*") as process:
        assert process.wait(10) == code
