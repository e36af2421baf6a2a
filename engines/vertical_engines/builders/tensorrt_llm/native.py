"""The part of a build that loads TensorRT-LLM itself, as a program of the image's Python:
`smoke-test ENGINE TOKENIZER REPORT` or `generate MODEL_YAML REPORT`.

It imports nothing of ours, for it may run where only TensorRT-LLM is installed. Only run on a machine with a GPU.
"""

import json
import sys
import time
from pathlib import Path

PROMPT = "The capital of France is"
TOKENS = 8


def smoke_test(engine: str, *, tokenizer: str, report: str) -> None:
    """Load an engine as a server will, generate greedily on each of its ranks and write a SmokeTest as JSON (rank 0 only)."""
    import tensorrt_llm
    import torch
    from tensorrt_llm.runtime import ModelRunner
    from transformers import AutoTokenizer

    started = time.monotonic()
    rank = tensorrt_llm.mpi_rank()
    words = AutoTokenizer.from_pretrained(tokenizer, local_files_only=True)
    prompt = torch.tensor(words.encode(PROMPT), dtype=torch.int32)
    runner = ModelRunner.from_dir(engine_dir=engine, rank=rank)
    end = words.eos_token_id if words.eos_token_id is not None else -1
    output = runner.generate([prompt], max_new_tokens=TOKENS, end_id=end, pad_id=words.pad_token_id or end, top_k=1)
    if rank:
        return
    tokens = [token for token in output[0][0].tolist()[len(prompt) :] if token != end]
    result = {"prompt": PROMPT, "text": words.decode(tokens), "tokens": len(tokens), "seconds": round(time.monotonic() - started, 2)}
    Path(report).write_text(json.dumps(result), encoding="utf-8")


def generate(arguments: str, *, report: str) -> None:
    """Load a checkpoint with the LLM API and its stored arguments (JSON), generate greedily and write a SmokeTest as JSON."""
    from tensorrt_llm import LLM, SamplingParams

    started = time.monotonic()
    stored = Path(arguments)
    options = json.loads(stored.read_text(encoding="utf-8"))
    options["model"] = str(stored.parent / options["model"])
    with LLM(**options) as model:
        output = model.generate([PROMPT], SamplingParams(max_tokens=TOKENS, temperature=0.0))[0].outputs[0]
    result = {"prompt": PROMPT, "text": output.text, "tokens": len(output.token_ids), "seconds": round(time.monotonic() - started, 2)}
    Path(report).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    sys.tracebacklimit = 3
    match sys.argv[1:]:
        case ["smoke-test", engine, tokenizer, report]:
            smoke_test(engine, tokenizer=tokenizer, report=report)
        case ["generate", arguments, report]:
            generate(arguments, report=report)
        case other:
            sys.exit(f"unknown arguments: {other}")
