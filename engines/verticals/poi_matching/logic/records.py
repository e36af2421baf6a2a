"""A place of the list and a receipt, both in the form in which they are compared."""

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from .normalise import house_number, normalise_address, normalise_business_number, normalise_name, normalise_phone


class Place(BaseModel):
    """One line of the places file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    place_id: str
    name: str
    branch: str = ""
    category: str = ""
    address: str
    tel: str = ""
    biznum: str = ""


@dataclass(frozen=True)
class Comparable:
    """Normalised fields; empty where unknown."""

    name: str
    branch: str
    address: str
    house: str
    phones: frozenset[str]
    biznum: str

    @property
    def text(self) -> str:
        """What is embedded. Phones and numbers are left out: they are compared exactly."""
        return ", ".join(part for part in (f"{self.name} {self.branch}".strip(), self.address) if part)


def comparable(*, name: str, branch: str, address: list[str], phones: list[str], biznum: str) -> Comparable:
    """Normalise the fields of a receipt or of a place."""
    whole = normalise_address(address)
    return Comparable(
        name=normalise_name(name),
        branch=normalise_name(branch),
        address=whole,
        house=house_number(whole),
        phones=frozenset(number for number in map(normalise_phone, phones) if number),
        biznum=normalise_business_number(biznum),
    )


def comparable_place(place: Place) -> Comparable:
    """A place in comparable form."""
    return comparable(name=place.name, branch=place.branch, address=[place.address], phones=[place.tel], biznum=place.biznum)
