"""The steps from a checkpoint to an engine as commands: what `build --plan` prints and what a build runs."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from vertical_engines.builders.tensorrt_llm.checkpoint import Checkpoint
from vertical_engines.builders.tensorrt_llm.conversion import conversion_command, find_family
from vertical_engines.builders.tensorrt_llm.families import RELATIVE_ATTENTION
from vertical_engines.builders.tensorrt_llm.flags import Options, command_line, decoder_options, given_plugins, lengths
from vertical_engines.builders.tensorrt_llm.target import BuildTarget

ENGINE, ENCODER, DECODER, TOKENIZER = "engine", "encoder", "decoder", "tokenizer"
"""Folders of a built engine."""


@dataclass(frozen=True)
class Step:
    """`doing` for people; `command` is run in the scratch folder."""

    doing: str
    command: tuple[str, ...]

    def __str__(self) -> str:
        return f"# {self.doing}\n{shlex.join(self.command)}"


@dataclass(frozen=True)
class Programs:
    """What is called. `root` is the root of the image that scripts are looked for in."""

    python: str = "python3"
    build: str = "trtllm-build"
    root: Path = Path("/")


def build_steps(target: BuildTarget, checkpoint: Checkpoint, *, folder: Path, scratch: Path, programs: Programs) -> list[Step]:
    """Conversion into `scratch`, then one engine into `folder`, or two for a model with an encoder. Raises Failure."""
    family, converted = find_family(target, checkpoint), scratch / "checkpoint"
    conversion = conversion_command(target, checkpoint, output=converted, python=programs.python, root=programs.root)
    fused = checkpoint.architecture not in RELATIVE_ATTENTION
    dtype = target.dtype(checkpoint)
    if family.encoder_decoder:
        wanted = {ENCODER: _encoder(target, dtype=dtype, fused=fused), DECODER: _cross_decoder(target, dtype=dtype, fused=fused)}
        sources = {part: converted / part for part in wanted}
    else:
        wanted = {ENGINE: decoder_options(target, dtype=dtype, fused_attention=fused)}
        sources = {ENGINE: converted}
    return [
        Step("conversion of the checkpoint", tuple(conversion)),
        *(
            Step(
                f"build of the {part}",
                (programs.build, *command_line(_places(target, source=sources[part], part=part, folder=folder, scratch=scratch) | options)),
            )
            for part, options in wanted.items()
        ),
    ]


def _places(target: BuildTarget, *, source: Path, part: str, folder: Path, scratch: Path) -> Options:
    places = {"checkpoint_dir": str(source), "output_dir": str(folder / part), "workers": str(target.gpus)}
    # By default it is written into the working directory under a name of its own.
    return {**places, "output_timing_cache": str(scratch / "timing.cache")}


def _encoder(target: BuildTarget, *, dtype: str, fused: bool) -> Options:
    """Without a KV cache: an encoder only ever looks at a prompt, all of it at once."""
    build, known = target.identity.build, target.release.flags
    options = decoder_options(target, dtype=dtype, fused_attention=fused) | {"use_paged_context_fmha": "disable"}
    del options["paged_kv_cache"]
    no_cache: Options = {"kv_cache_type": "disabled"} if "kv_cache_type" in known else {"paged_kv_cache": "disable"}
    if "max_seq_len" in known:
        options |= {"max_seq_len": str(build.max_input_len)}
    return options | no_cache | {"bert_attention_plugin": dtype} | given_plugins(target, dtype=dtype)


def _cross_decoder(target: BuildTarget, *, dtype: str, fused: bool) -> Options:
    """Its own prompt is one token; the real one is the encoder's output."""
    build = target.identity.build
    options = decoder_options(target, dtype=dtype, fused_attention=fused) | lengths(
        target, max_input_len=1, max_output_len=build.max_output_len
    )
    return options | {"max_encoder_input_len": str(build.max_input_len)}
