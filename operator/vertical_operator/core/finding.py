"""A finding: one thing in an object that can't work, with its field, its cause and what to write instead."""

from dataclasses import dataclass

from vertical_engines.contract.reasons import Reason


@dataclass(frozen=True)
class Finding:
    """What a check, the API server and the status of an object say with the same words."""

    policy: str
    """Name of the policy that found it."""
    field: str
    """Path in the object: `spec.variants[0].placements[1].accelerator.product`."""
    where: str
    """`variant realtime, placement t4`; empty when it is about the whole object."""
    reason: Reason
    what: str
    why: str
    """Empty where the schema has spoken: its words say it all."""
    instead: str
    """What to write instead."""

    @property
    def message(self) -> str:
        """One line."""
        place = f"{self.field} ({self.where})" if self.where else self.field
        why, instead = (f": {self.why}" if self.why else ""), (f"; {self.instead}" if self.instead else "")
        return f"{place}: {self.what}{why}{instead}"
