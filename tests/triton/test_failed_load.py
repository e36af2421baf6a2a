"""A real Triton server that can't load a model, under `vertical-engines serve`: the cause reaches the termination message."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.triton.server import free_ports, make_backends, wheel_folder
from vertical_engines.contract.build import BuildOutcome
from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.triton_config import ModelConfig, TensorConfig

pytestmark = pytest.mark.triton

# As TensorRT says it, and the frames of a stack behind it, as TensorRT-LLM puts them.
ENGINE = """
import sys
import triton_python_backend_utils as pb

WORDS = "[TensorRT-LLM][ERROR] The engine plan file is generated on an incompatible device, expecting compute 7.5 got compute 8.0"


class TritonPythonModel:
    def initialize(self, args):
        library = "/opt/tritonserver/backends/tensorrtllm/libtriton_tensorrtllm.so"
        frames = [f"{number}   0x7f10a2b3c4d5 {library}(+0x1) [0x7f1]" for number in range(30)]
        print("\\n".join([WORDS, *frames]), file=sys.stderr, flush=True)
        raise pb.TritonModelException("\\n".join([WORDS, *frames]))
"""
TENSOR = (TensorConfig(name="x", data_type="TYPE_INT32"),)


def test_the_cause_of_a_failed_load_reaches_the_termination_message(tmp_path: Path) -> None:
    version = tmp_path / "repository" / "generator_tensorrt_llm" / "1"
    version.mkdir(parents=True)
    (version / "model.py").write_text(ENGINE)
    (version.parent / "config.pbtxt").write_text(ModelConfig(name="generator_tensorrt_llm", inputs=TENSOR, outputs=TENSOR).to_pbtxt())
    http, grpc, metrics = free_ports(3)
    server = [
        str(wheel_folder() / "bin" / "tritonserver"),
        f"--model-repository={tmp_path / 'repository'}",
        f"--backend-directory={make_backends(tmp_path)}",
        f"--backend-config=python,shm-region-prefix-name=vertical_test_{os.getpid()}_",
        "--disable-auto-complete-config",
        "--http-address=127.0.0.1",
        f"--http-port={http}",
        f"--grpc-port={grpc}",
        f"--metrics-port={metrics}",
        "--exit-timeout-secs=2",
    ]
    log = tmp_path / "termination-log"
    log.touch()
    command = [sys.executable, "-m", "vertical_engines.cli", "serve", "--termination-log", str(log), "--", *server]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, env=environment, timeout=120, check=False)
    assert done.returncode == 1
    output = done.stdout.decode()
    assert "incompatible device" in output
    assert "incompatible device" not in output[-2048:], "what the kubelet keeps of a log would do after all"
    outcome = BuildOutcome.from_termination_message(log.read_text())
    assert outcome, output[-2000:]
    assert outcome.failure
    assert outcome.failure.reason is Reason.ENGINE_GPU_MISMATCH
    assert "compute capability 8.0, the GPU of this pod has 7.5" in outcome.failure.message
