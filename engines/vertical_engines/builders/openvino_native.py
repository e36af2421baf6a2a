"""The part of an OpenVINO build that runs native code, as a program.

`repack SOURCE GGUF WEIGHTS`, `convert GGUF`, `compare-tokenizers FOLDER TOKENIZER` or `smoke-test FOLDER LAYOUT REPORT`.
What the user has to correct ends with exit code 65, the last line says it.
"""

import ctypes
import signal
import sys
import time
from pathlib import Path

from vertical_engines.contract.build import EXIT_USER_ERROR
from vertical_engines.contract.manifest import SmokeTest

PROMPT = "The capital of France is"
TOKENS = 8
ATTENTION = {"contiguous": "SDPA", "paged": "PA"}
PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """A build that is killed must not leave its native half running in a shared process namespace."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


PROBES = (
    "The capital of France is Paris.",
    "  two spaces, a tab\tand\n\nempty lines  \n",
    "Receipt 2024-01-31: 3 x 12.50 = 37.5 EUR, tel. +49 (0)30 1234567, 100000",
    "def f(x): return {'a': [x, 'y']}  # don't we'll I'M",
    "Caf\u00e9 Z\u00fcrich, \u5317\u4eac\u70e4\u9e2d\u5e97 \uac15\ub0a8\uad6c 152, \u041c\u043e\u0441\u043a\u0432\u0430 \U0001f600",
)
"""What splits differently between tokenizers: spaces, digits, apostrophes, other scripts."""


def refuse(why: str) -> None:
    """End as a build that no retry can cure."""
    print(why, flush=True)
    sys.exit(EXIT_USER_ERROR)


def repack_model(source: str, target: str, *, weights: str) -> None:
    """Write a GGUF file that `convert` can read."""
    from vertical_engines.builders.openvino_checkpoint import NotCheckpoint
    from vertical_engines.builders.openvino_repack import repack

    try:
        repack(Path(source), Path(target), weights=weights)
    except NotCheckpoint as why:
        refuse(str(why))


def compare_tokenizers(folder: str, *, original: str) -> None:
    """The tokenizer that was made must give the ids of the one that the model was trained with."""
    import openvino_genai
    from tokenizers import Tokenizer

    made, trained = openvino_genai.Tokenizer(folder), Tokenizer.from_file(original)
    trained.no_truncation()
    trained.no_padding()
    for text in PROBES:
        ids, wanted = made.encode(text).input_ids.data[0].tolist(), trained.encode(text).ids
        if ids != wanted:
            refuse(f"its tokenizer can't be rebuilt: {text!r} gives {ids} instead of {wanted}; convert the model to an OpenVINO IR first")


def convert(gguf: str) -> None:
    """Save the IR of a GGUF file beside it."""
    import openvino_genai

    from vertical_engines.builders.gguf import read_header
    from vertical_engines.builders.openvino_rotary import mend_rotary

    openvino_genai.LLMPipeline(gguf, "CPU", enable_save_ov_model=True)
    mend_rotary(Path(gguf).parent, base=read_header(Path(gguf)).rope_base)


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
        case ["repack", source, target, weights]:
            repack_model(source, target, weights=weights)
        case ["compare-tokenizers", folder, original]:
            compare_tokenizers(folder, original=original)
        case ["convert", gguf]:
            convert(gguf)
        case ["smoke-test", folder, layout, report]:
            smoke_test(folder, layout=layout, report=report)
        case other:
            sys.exit(f"unknown arguments: {other}")
