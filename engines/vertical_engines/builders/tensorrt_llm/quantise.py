"""Quantises a checkpoint for TensorRT-LLM's PyTorch backend, as a program of the image's Python: MODEL OUTPUT DTYPE FORMAT CALIBRATION.

The releases up to 1.2.1 export Hugging Face's format by ModelOpt's own functions only. FORMAT is ModelOpt's name of a configuration;
CALIBRATION a folder of .txt files, one text a line. It imports nothing of ours. Only run on a machine with a GPU.
"""

import sys
from pathlib import Path

SAMPLES = 512
LONGEST = 512
"""Texts that scales are measured on, and tokens of each."""


def texts(folder: Path) -> list[str]:
    """The first lines that are not empty, files in the order of their names."""
    lines = (line.strip() for path in sorted(folder.glob("*.txt")) for line in path.read_text(encoding="utf-8").splitlines())
    found = [line for line in lines if line][:SAMPLES]
    if not found:
        sys.exit(f"no text to measure scales on: {folder} needs .txt files, one text a line")
    return found


def quantise(model: str, *, output: str, dtype: str, form: str, calibration: str) -> None:
    """Write the quantised checkpoint, with ModelOpt's hf_quant_config.json, into `output`."""
    samples = texts(Path(calibration))
    import modelopt.torch.quantization as mtq
    import torch
    from modelopt.torch.export import export_hf_checkpoint
    from transformers import AutoModelForCausalLM, AutoTokenizer

    words = AutoTokenizer.from_pretrained(model, local_files_only=True)
    loaded = AutoModelForCausalLM.from_pretrained(model, torch_dtype=getattr(torch, dtype), device_map="cuda", local_files_only=True)

    def measure(network: object) -> None:
        for number, text in enumerate(samples, start=1):
            tokens = words(text, return_tensors="pt", truncation=True, max_length=LONGEST).input_ids.to("cuda")
            network(tokens)  # type: ignore[operator]
            if number % 64 == 0:
                print(f"measured {number} of {len(samples)} texts", flush=True)

    with torch.inference_mode():
        mtq.quantize(loaded, getattr(mtq, form), forward_loop=measure)
        export_hf_checkpoint(loaded, export_dir=output)


if __name__ == "__main__":
    sys.tracebacklimit = 3
    match sys.argv[1:]:
        case [model, output, dtype, form, calibration]:
            quantise(model, output=output, dtype=dtype, form=form, calibration=calibration)
        case other:
            sys.exit(f"unknown arguments: {other}")
