"""Addresses that the client takes, and what it says about others."""

import pytest

from vertical_engines.client import Address, service_url


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://host:8000", Address("http", "host:8000", False)),
        ("http://host", Address("http", "host:80", False)),
        ("https://host/prefix/", Address("http", "host:443/prefix", True)),
        ("grpc://host", Address("grpc", "host:8001", False)),
        ("grpcs://host:9", Address("grpc", "host:9", True)),
        ("http://[::1]:8000", Address("http", "[::1]:8000", False)),
    ],
)
def test_a_url_is_understood(url: str, address: Address) -> None:
    assert Address.parse(url) == address


@pytest.mark.parametrize(
    "url", ["host:8000", "ftp://host", "http://", "grpc://host/prefix", "http://user@host", "http://host?x=1", "http://host:x"]
)
def test_another_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the words come from two places
        Address.parse(url)


def test_the_service_of_a_variant_has_a_name() -> None:
    assert service_url("poi-matching", variant="realtime", namespace="place") == "http://poi-matching-realtime.place.svc:8000"
    assert service_url("poi-matching", variant="background", protocol="grpc") == "grpc://poi-matching-background.default.svc:8001"
