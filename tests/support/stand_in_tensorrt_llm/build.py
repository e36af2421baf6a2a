"""The stand-in `trtllm-build`, as a program: parses as the real one of a version does, fails with its words, writes files of no use.

Environment: STAND_IN_VERSION, STAND_IN_SM (compute capability times ten) and STAND_IN_FAULT (a key of FAULTS).
"""

import json
import os
import signal
import sys
from pathlib import Path

from grammar import numbers, parser  # type: ignore[import-not-found]

FAULTS = {
    "gpu memory": (1, "[TRT] [E] Error Code 2: OutOfMemory (Requested size was 8589934592 bytes.)"),
    "no kernel": (1, "RuntimeError: CUDA error: no kernel image is available for execution on the device"),
    "no driver": (1, "ImportError: libnvidia-ml.so.1: cannot open shared object file: No such file or directory"),
    "secret": (7, "OSError: 401 Client Error for url with hf_AbCdEfGhIjKlMnOpQrStUvWxYz: something unheard of"),
    "full": (1, "OSError: [Errno 28] No space left on device: 'rank0.engine'"),
}


def say(text: str) -> None:
    print(f"[11/29/2026-23:00:00] [TRT-LLM] [I] {text}", flush=True)


def main() -> int:
    version, sm = os.environ["STAND_IN_VERSION"], int(os.environ.get("STAND_IN_SM", "80"))
    print(f"[TensorRT-LLM] TensorRT-LLM version: {version} (stand-in)")
    arguments = parser(version).parse_args()
    if fault := FAULTS.get(os.environ.get("STAND_IN_FAULT", "")):
        say("Loading checkpoint")
        print(fault[1], file=sys.stderr, flush=True)
        return fault[0]
    if os.environ.get("STAND_IN_FAULT") == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    pretrained = json.loads(Path(arguments.checkpoint_dir, "config.json").read_text(encoding="utf-8"))
    if numbers(version) >= (0, 13):
        pair = (arguments.paged_kv_cache, arguments.kv_cache_type)
        assert pair not in (("enable", "continuous"), ("enable", "disabled"), ("disable", "paged")), (
            f"--paged_kv_cache {pair[0]} is incompatible with --kv_cache_type {pair[1]}"
        )
    if arguments.multiple_profiles == "enable" and arguments.opt_num_tokens:
        raise RuntimeError(
            "multiple_profiles is enabled, while opt_num_tokens is set. They are not supposed to be working in the same time."
        )
    if sm < 80 and pretrained["dtype"] == "bfloat16":
        raise RuntimeError("Unsupported data type, pre SM 80 GPUs do not support bfloat16")
    if sm == 75 and arguments.context_fmha != "disable":
        print("[TensorRT-LLM][ERROR] Assertion failed: Unsupported architecture (/src/fmhaRunner.cpp:90)", file=sys.stderr, flush=True)
        os.abort()
    write(arguments, version=version, pretrained=pretrained)
    return 0


def write(arguments: object, *, version: str, pretrained: dict[str, object]) -> None:
    folder = Path(arguments.output_dir)  # type: ignore[attr-defined]
    folder.mkdir(parents=True, exist_ok=True)
    config = {"version": version, "pretrained_config": pretrained, "build_config": vars(arguments)}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for rank in range(int(str(pretrained["world"]))):
        say(f"Serializing engine to {folder}/rank{rank}.engine...")
        (folder / f"rank{rank}.engine").write_bytes(b"stand-in, not an engine\n" * 64)
    say("Total time of building all engines: 00:00:00")


if __name__ == "__main__":
    sys.exit(main())
