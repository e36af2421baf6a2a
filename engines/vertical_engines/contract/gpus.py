"""GPU products: from the value of the node label nvidia.com/gpu.product to architecture, memory and number types."""

import re
from collections.abc import Mapping

from vertical_engines.contract.frozen import Frozen

_PARTITION = re.compile(r"(?P<whole>.+)-MIG-(?P<slices>\d+)[cg]\.(?:\d+g\.)?(?P<gigabytes>\d+)gb(?P<extras>[-+.a-z]*)")
_SHARED = "-SHARED"
"""What the device plugin puts behind the label of a GPU that several pods share."""


class Gpu(Frozen):
    """One product. `memory` is what the driver reports as usable, in MiB."""

    sm: int
    """Compute capability times ten: 75 is 7.5."""
    memory: int


class Architecture(Frozen):
    """What a generation of GPUs can do, whatever the release."""

    name: str = ""
    dtypes: tuple[str, ...] = ()
    """Number types of weights that it computes with; empty: not known."""
    context_fmha: bool = True
    """Fused attention in the context phase. Without it there is no prefix cache and no chunked context."""


class SmRange(Frozen):
    """Architectures from `low` to `high`, both included."""

    low: int
    high: int

    @classmethod
    def of(cls, text: str) -> "SmRange":
        """From `80` or `80-90`. Raises ValueError."""
        low, _, high = text.partition("-")
        found = cls(low=int(low), high=int(high or low))
        if found.low > found.high:
            raise ValueError(f"{text!r}: the lower architecture comes first")
        return found

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"

    def __contains__(self, sm: int) -> bool:
        return self.low <= sm <= self.high


def lookup(product: str, gpus: Mapping[str, Gpu]) -> Gpu | None:
    """A product by its label. Parts of a GPU (MIG) and shared ones are told from their suffix; None: not in the table."""
    product = product.removesuffix(_SHARED)
    if found := gpus.get(product):
        return found
    part = _PARTITION.fullmatch(product)
    whole = gpus.get(part["whole"]) if part else None
    if part is None or whole is None:
        return None
    return Gpu(sm=whole.sm, memory=min(whole.memory, int(part["gigabytes"]) * 1000))
