"""One spelling per name, phone, address and business number, whatever a receipt printer or OCR made of it."""

import re
import unicodedata

_NOT_WORD = re.compile(r"[^\w\s]|_")
_APOSTROPHE = re.compile(r"['’`´]")
_EXTENSION = re.compile(r"(?:ext\.?|x|#)\s*\d{1,5}\s*$", re.IGNORECASE)
_NOT_DIGIT = re.compile(r"[^0-9]")

_LEGAL = frozenset({"inc", "ltd", "llc", "co", "corp", "gmbh", "plc", "company", "limited"})

_ABBREVIATIONS = {
    "st": "street",
    "str": "street",
    "ave": "avenue",
    "av": "avenue",
    "rd": "road",
    "ln": "lane",
    "blvd": "boulevard",
    "sq": "square",
    "pl": "place",
    "dr": "drive",
    "hwy": "highway",
    "n": "north",
    "s": "south",
    "e": "east",
    "w": "west",
}

PHONE_DIGITS = 10
SHORTEST_PHONE = 7
BUSINESS_NUMBER_DIGITS = 10


def fold(text: str) -> str:
    """Compatibility form, no accents, lower case, words separated by one space."""
    text = unicodedata.normalize("NFKD", _APOSTROPHE.sub("", text)).casefold()
    # Marks go, so that "café" and "cafe" agree; composing again keeps scripts whose letters NFKD takes apart (Hangul).
    text = unicodedata.normalize("NFC", "".join(letter for letter in text if unicodedata.category(letter) != "Mn"))
    return " ".join(_NOT_WORD.sub(" ", text).split())


def normalise_name(text: str) -> str:
    """A name without punctuation, case and legal form; empty stays empty, a name of legal forms only stays whole."""
    words = fold(text).split()
    return " ".join([word for word in words if word not in _LEGAL] or words)


def normalise_address(lines: list[str]) -> str:
    """All lines in one, with the usual abbreviations written out."""
    return " ".join(_ABBREVIATIONS.get(word, word) for word in fold(" ".join(lines)).split())


def normalise_phone(text: str) -> str:
    """National digits of a phone number, or empty when there are too few to mean anything."""
    digits = _NOT_DIGIT.sub("", unicodedata.normalize("NFKC", _EXTENSION.sub("", text)))
    return digits[-PHONE_DIGITS:] if len(digits) >= SHORTEST_PHONE else ""


def normalise_business_number(text: str) -> str:
    """The ten digits of a business number, or empty when there are not exactly ten."""
    digits = _NOT_DIGIT.sub("", unicodedata.normalize("NFKC", text))
    return digits if len(digits) == BUSINESS_NUMBER_DIGITS else ""


def house_number(address: str) -> str:
    """The first word of a normalised address that begins with a digit, or empty."""
    return next((word for word in address.split() if word[0].isdigit()), "")
