"""The reference pages are fresh and complete."""

from pathlib import Path

from vertical_engines.contract.reasons import REASONS, Reason
from vertical_operator.api.v1alpha1.reference import api_page, pages, reasons_page

COMMITTED = Path(__file__).parents[2] / "docs" / "reference"


def test_committed_pages_are_fresh() -> None:
    assert {name: (COMMITTED / name).read_text() for name in pages()} == pages()


def test_every_reason_is_explained() -> None:
    assert set(REASONS) == set(Reason)
    assert all(f"`{reason.value}`" in reasons_page() for reason in Reason)


def test_fields_deep_inside_are_listed() -> None:
    assert "`spec.variants[].placements[].accelerator.product`" in api_page()
    assert "batching InFlight needs a paged KV cache" in api_page()
