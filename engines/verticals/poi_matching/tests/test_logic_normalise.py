"""Normalisation: one spelling whatever the printer made of it, and never an exception."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verticals.poi_matching.logic.normalise import (
    fold,
    house_number,
    normalise_address,
    normalise_business_number,
    normalise_name,
    normalise_phone,
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("BLUE  HERON\tCafé", "blue heron cafe"),
        ("Okoro's Grill", "okoros grill"),
        ("Okoro’s Grill", "okoros grill"),
        ("Pixel Print & Copy Ltd.", "pixel print copy"),
        ("ＡＢＣ　Ｍａｒｔ", "abc mart"),
        ("Co.", "co"),
        ("김밥천국", "김밥천국"),
        ("", ""),
        ("!!!", ""),
    ],
)
def test_a_name_has_one_spelling(text: str, wanted: str) -> None:
    assert normalise_name(text) == wanted


@pytest.mark.parametrize(
    "text",
    ["(555) 014-2381", "555-014-2381", "5550142381", "+1 555 014 2381", "TEL 555.014.2381", "555 014 2381 ext. 12", "５５５-014-2381"],
)
def test_a_phone_has_one_spelling(text: str) -> None:
    assert normalise_phone(text) == "5550142381"


@pytest.mark.parametrize("text", ["", "tel", "12345", "ext. 12345"])
def test_what_is_too_short_is_no_phone(text: str) -> None:
    assert normalise_phone(text) == ""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("101-22-33440", "1012233440"), ("1012233440", "1012233440"), ("101-22-3344", ""), ("x", ""), ("101-22-334400", "")],
)
def test_a_business_number_has_ten_digits(text: str, wanted: str) -> None:
    assert normalise_business_number(text) == wanted


def test_an_address_is_written_out() -> None:
    assert normalise_address(["12 Mill St.", "N. Harbor Rd"]) == "12 mill street north harbor road"
    assert house_number("flat b 12a mill street") == "12a"
    assert house_number("mill street") == ""


@given(st.text())
def test_normalising_never_fails_and_twice_is_once(text: str) -> None:
    for normalise in (fold, normalise_name, normalise_phone, normalise_business_number):
        assert normalise(normalise(text)) == normalise(text)


@given(st.lists(st.text()))
def test_addresses_never_fail(lines: list[str]) -> None:
    address = normalise_address(lines)
    assert house_number(address) == "" or house_number(address) in address.split()


@given(st.text(alphabet=st.characters(codec="ascii")))
def test_case_and_spaces_do_not_matter(text: str) -> None:
    assert normalise_name(text.upper()) == normalise_name(f"  {text.lower()} ")
