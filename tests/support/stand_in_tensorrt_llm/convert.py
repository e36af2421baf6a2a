"""The stand-in for `convert_checkpoint.py` and `quantize.py`, as a program: takes the arguments that the scripts document."""

import argparse
import json
import sys
from pathlib import Path


def parser(name: str, family: str) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog=name)
    for option in ("--model_dir", "--output_dir"):
        made.add_argument(option, required=True)
    made.add_argument("--dtype", default="auto", choices=["auto", "float16", "bfloat16", "float32"])
    made.add_argument("--tp_size", type=int, default=1)
    made.add_argument("--pp_size", type=int, default=1)
    if name == "quantize.py":
        made.add_argument("--qformat", choices=["fp8", "int8_sq", "int4_awq", "int8_wo", "int4_wo", "full_prec"], default="full_prec")
        made.add_argument("--calib_dataset", default="cnn_dailymail")
        made.add_argument("--calib_size", type=int, default=512)
        return made
    made.add_argument("--load_model_on_cpu", action="store_true")
    made.add_argument("--workers", type=int, default=1)
    if family == "gpt":
        # Without it the real one guesses from the folder's name, and fails.
        made.add_argument(
            "--gpt_variant", required=True, choices=["gpt2", "santacoder", "starcoder", "starcoder2", "persimmon", "kosmos-2"]
        )
    if family == "enc_dec":
        made.add_argument("--model_type", required=True, choices=["t5", "bart", "nmt", "pix2struct", "blip2"])
    else:
        made.add_argument("--use_weight_only", action="store_true")
        made.add_argument("--weight_only_precision", choices=["int8", "int4"], default="int8")
        made.add_argument("--int8_kv_cache", action="store_true")
    return made


def main() -> int:
    script = Path(sys.argv[0])
    arguments = parser(script.name, script.parent.name).parse_args()
    source = json.loads(Path(arguments.model_dir, "config.json").read_text(encoding="utf-8"))
    output = Path(arguments.output_dir)
    parts = ["encoder", "decoder"] if script.parent.name == "enc_dec" else [""]
    for part in parts:
        folder = output / part
        folder.mkdir(parents=True)
        made = {"architecture": source["architectures"][0], "dtype": arguments.dtype, "world": arguments.tp_size}
        (folder / "config.json").write_text(json.dumps(made), encoding="utf-8")
        for rank in range(arguments.tp_size):
            (folder / f"rank{rank}.safetensors").write_bytes(b"stand-in")
    print("Total time of converting checkpoints: 00:00:00", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
