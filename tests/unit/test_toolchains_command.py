"""`vertical-engines toolchains` and the page of the docs that is made by it."""

import json
from pathlib import Path

from typer.testing import CliRunner

from vertical_engines.cli import app
from vertical_engines.contract.toolchains import matrix

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "toolchains.md"
runner = CliRunner()


def test_the_committed_page_is_fresh() -> None:
    """When this fails: `make generate`."""
    assert runner.invoke(app, ["toolchains", "-o", "markdown"]).stdout == PAGE.read_text()


def test_the_table_has_a_line_for_each_release() -> None:
    lines = runner.invoke(app, ["toolchains"]).stdout.splitlines()
    for row in matrix().releases:
        assert [line for line in lines if f" {row.backend} " in line and f" {row.release} " in line], f"{row.backend} {row.release}"


def test_json_has_the_flags_of_each_release() -> None:
    rows = json.loads(runner.invoke(app, ["toolchains", "-o", "json"]).stdout)
    assert len(rows) == len(matrix().releases)
    row = next(row for row in rows if row["release"] == "24.09")
    assert row["flags"]["kv_cache_type"]["choices"] == ["continuous", "paged", "disabled"]
    assert row["sm"] == ["70-75", "80-90"]
    assert "gpt_model_type" in row["parameters"]
