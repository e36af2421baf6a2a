"""`vertical-engines serve`: the server's log as it is, its exit code, signals handed on, and why it ended in the termination message."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from vertical_engines.commands.serve import run_serve
from vertical_engines.contract.build import BuildOutcome
from vertical_engines.contract.reasons import Reason

OPTIONS_TABLE = "\n".join(f"| option_{number:<20} | {'x' * 200} |" for number in range(40))
LOAD_FAILURE = f'''
print("I1129 23:00:00.000000 1 model_lifecycle.cc:472] loading: generator_tensorrt_llm:7")
print("[TensorRT-LLM][ERROR] The engine plan file is generated on an incompatible device, expecting compute 7.5 got compute 8.0")
for number in range(30): print(f"{{number}}   0x7f10a2b3c4d5 /opt/tritonserver/backends/tensorrtllm/libtriton_tensorrtllm.so(+0x1) [0x7f1]")
print("E1129 23:00:01.000000 1 model_lifecycle.cc:642] failed to load 'generator_tensorrt_llm' version 7: Internal: unexpected error")
print("""{OPTIONS_TABLE}""")
print("error: creating server: Internal - failed to load all models")
raise SystemExit(1)
'''


def serve(code: str, log: Path) -> int:
    log.touch()
    return run_serve([sys.executable, "-u", "-c", code], termination_log=log)


def test_a_server_that_could_not_load_leaves_the_cause_and_not_its_options(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert serve(LOAD_FAILURE, log) == 1
    outcome = BuildOutcome.from_termination_message(log.read_text())
    assert outcome
    assert outcome.failure
    assert outcome.failure.reason is Reason.ENGINE_GPU_MISMATCH
    assert "compute capability 8.0, the GPU of this pod has 7.5" in outcome.failure.message
    assert "option_1" not in "".join(outcome.failure.log)


def test_the_cause_would_not_have_been_in_what_the_kubelet_keeps(tmp_path: Path) -> None:
    """Else there was no need for any of this."""
    done = subprocess.run([sys.executable, "-c", LOAD_FAILURE], capture_output=True, text=True, check=False)
    assert "incompatible device" not in done.stdout[-2048:]


def test_words_that_are_not_known_are_left_as_they_are_but_masked(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert serve("print('Error: something new with hf_AbCdEfGhIjKlMnOp'); raise SystemExit(3)", log) == 3
    assert BuildOutcome.from_termination_message(log.read_text()) is None
    assert log.read_text().startswith("Error: something new with ***")


def test_a_good_end_leaves_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert serve("print('Error: of a request, long ago')", log) == 0
    assert log.read_text() == ""


def test_a_killed_server_is_told_as_a_shell_does(tmp_path: Path) -> None:
    assert serve("import os; os.kill(os.getpid(), 9)", tmp_path / "log") == 128 + 9


def test_what_a_crashed_server_leaves_behind_does_not_hold_its_end_back(tmp_path: Path) -> None:
    """A python stub, say, which has inherited the output and goes on."""
    told = tmp_path / "pid"
    stub = "import time; time.sleep(600)"
    code = (
        f"import os, subprocess, sys; stub = subprocess.Popen([sys.executable, '-c', {stub!r}]); "
        f"open({str(told)!r}, 'w').write(str(stub.pid)); os.kill(os.getpid(), 11)"
    )
    try:
        assert serve(code, tmp_path / "log") == 128 + 11
    finally:
        os.kill(int(told.read_text()), signal.SIGKILL)


SERVING = """
import signal, sys, time
def end(number, frame): print("going", flush=True); sys.exit(0)
signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
while True: time.sleep(60)
"""


def test_the_log_is_passed_on_and_sigterm_handed_on(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from vertical_engines.commands.serve import run_serve; "
        "sys.exit(run_serve([sys.executable, '-c', sys.argv[1]], termination_log=Path(sys.argv[2])))"
    )
    command = [sys.executable, "-c", program, SERVING, str(tmp_path / "log")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as server:
        assert server.stdout
        assert server.stdout.readline() == b"ready\n"
        server.send_signal(signal.SIGTERM)
        assert server.stdout.read() == b"going\n"
        assert server.wait(20) == 0
