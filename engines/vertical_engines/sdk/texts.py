"""Types that travel as text in a TYPE_STRING tensor: pydantic reads them, these functions write them."""

from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from pathlib import PurePath
from typing import Any
from uuid import UUID

from pydantic import AnyUrl, SecretStr
from pydantic_core import Url

ToText = Callable[[Any], str]


def _isoformat(value: Any) -> str:
    return str(value.isoformat())


def _secret(value: SecretStr) -> str:
    return value.get_secret_value()


_FORMS: tuple[tuple[type, ToText], ...] = (
    (datetime, _isoformat),
    (date, _isoformat),
    (time, _isoformat),
    (UUID, str),
    (Decimal, str),
    (AnyUrl, str),
    (Url, str),
    (SecretStr, _secret),
    (PurePath, str),
    (IPv4Address, str),
    (IPv6Address, str),
)


def text_form(python: type) -> ToText | None:
    """How a value of the type becomes text, or None for a type that does not travel as text."""
    return next((form for base, form in _FORMS if issubclass(python, base)), None)
