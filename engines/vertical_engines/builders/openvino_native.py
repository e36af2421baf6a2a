"""The part of an OpenVINO build that runs native code, as a program: `convert GGUF` or `smoke-test FOLDER LAYOUT REPORT`."""

import ctypes
import signal
import sys
import time
from pathlib import Path

from vertical_engines.contract.manifest import SmokeTest

PROMPT = "The capital of France is"
TOKENS = 8
ATTENTION = {"contiguous": "SDPA", "paged": "PA"}
PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """A build that is killed must not leave its native half running in a shared process namespace."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def convert(gguf: str) -> None:
    """Save the IR of a GGUF file beside it."""
    import openvino_genai

    openvino_genai.LLMPipeline(gguf, "CPU", enable_save_ov_model=True)


def smoke_test(folder: str, *, layout: str, report: str) -> None:
    """Load an IR with the attention that its variant serves with, generate greedily and write a SmokeTest as JSON."""
    import openvino_genai

    started = time.monotonic()
    pipeline = openvino_genai.LLMPipeline(folder, "CPU", ATTENTION_BACKEND=ATTENTION[layout])
    results = pipeline.generate([PROMPT], max_new_tokens=TOKENS, do_sample=False, ignore_eos=True)
    result = SmokeTest(
        prompt=PROMPT,
        text=results.texts[0],
        tokens=results.perf_metrics.get_num_generated_tokens(),
        seconds=round(time.monotonic() - started, 2),
    )
    Path(report).write_text(result.to_json(), encoding="utf-8")


if __name__ == "__main__":
    die_with_parent()
    # The last lines go into a status: what went wrong, not where in our three lines of code.
    sys.tracebacklimit = 0
    match sys.argv[1:]:
        case ["convert", gguf]:
            convert(gguf)
        case ["smoke-test", folder, layout, report]:
            smoke_test(folder, layout=layout, report=report)
        case other:
            sys.exit(f"unknown arguments: {other}")
