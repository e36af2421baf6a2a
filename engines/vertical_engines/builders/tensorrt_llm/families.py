"""Model families that can be converted: which architectures belong to them, and what their conversion script wants to be told."""

from dataclasses import dataclass

from vertical_engines.contract.versions import Version


@dataclass(frozen=True)
class Family:
    """`since` maps architectures that came later than the family to the first TensorRT-LLM that converts them."""

    name: str
    folder: str
    """Of its conversion script, below the release's examples."""
    architectures: tuple[str, ...]
    since: tuple[tuple[str, str], ...] = ()
    weight_only: bool = True
    """Whether the script quantises weights to int8 and int4."""
    encoder_decoder: bool = False

    def first_version(self, architecture: str) -> Version:
        return Version.of(dict(self.since).get(architecture, "0.9"))


LLAMA = Family("Llama", "llama", ("LlamaForCausalLM", "MistralForCausalLM"))
QWEN = Family(
    "Qwen",
    "qwen",
    ("QWenLMHeadModel", "Qwen2ForCausalLM", "Qwen3ForCausalLM"),
    since=(("Qwen2ForCausalLM", "0.12"), ("Qwen3ForCausalLM", "0.20")),
)
GPT = Family("GPT", "gpt", ("GPT2LMHeadModel", "GPTBigCodeForCausalLM", "Starcoder2ForCausalLM"))
ENCODER_DECODER = Family(
    "encoder-decoder",
    "enc_dec",
    ("T5ForConditionalGeneration", "BartForConditionalGeneration", "MBartForConditionalGeneration"),
    weight_only=False,
    encoder_decoder=True,
)
FAMILIES = (LLAMA, QWEN, GPT, ENCODER_DECODER)

KINDS = {
    "T5ForConditionalGeneration": ("--model_type", "t5"),
    "BartForConditionalGeneration": ("--model_type", "bart"),
    "MBartForConditionalGeneration": ("--model_type", "bart"),
    "GPT2LMHeadModel": ("--gpt_variant", "gpt2"),
    "GPTBigCodeForCausalLM": ("--gpt_variant", "starcoder"),
    "Starcoder2ForCausalLM": ("--gpt_variant", "starcoder2"),
}
"""What a script has to be told of the architecture; the one for GPT would guess it from the name of the folder."""

RELATIVE_ATTENTION = ("T5ForConditionalGeneration",)
"""Architectures whose position bias the fused context attention does not know."""


def family_of(architecture: str) -> Family | None:
    return next((family for family in FAMILIES if architecture in family.architectures), None)


def known_architectures() -> list[str]:
    return [architecture for family in FAMILIES for architecture in family.architectures]
