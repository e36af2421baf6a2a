"""Spelling of CEL: literals, and the few shapes that rules are made of."""

import json
from collections.abc import Mapping, Sequence


def text(value: str) -> str:
    """A string literal."""
    return json.dumps(value, ensure_ascii=False)


def texts(values: Sequence[str]) -> str:
    """A list of strings."""
    return f"[{', '.join(map(text, values))}]"


def table(values: Mapping[str, str]) -> str:
    """A map of strings to strings. All values of a CEL literal have to be of one type."""
    return "{" + ", ".join(f"{text(key)}: {text(value)}" for key, value in values.items()) + "}"


def numbers(values: Mapping[str, int]) -> str:
    """A map of strings to numbers."""
    return "{" + ", ".join(f"{text(key)}: {value}" for key, value in values.items()) + "}"


def decimals(values: Mapping[str, float]) -> str:
    """A map of strings to numbers with a point."""
    return "{" + ", ".join(f"{text(key)}: {float(value)}" for key, value in values.items()) + "}"


def lists(values: Mapping[str, Sequence[str]]) -> str:
    """A map of strings to lists of strings."""
    return "{" + ", ".join(f"{text(key)}: {texts(items)}" for key, items in values.items()) + "}"


def joined(*parts: str) -> str:
    """Strings put together."""
    return " + ".join(parts)


def on(value: str) -> str:
    """A switch of plugin_config that is on, in either spelling."""
    return f'{value} in ["true", "enable"]'


def off(value: str) -> str:
    return f'{value} in ["false", "disable"]'
