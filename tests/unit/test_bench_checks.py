"""The measuring script of checks runs and names its figures."""

import pytest

from tests.bench.bench_checks import main


def test_it_prints_a_line_per_figure(capsys: pytest.CaptureFixture[str]) -> None:
    main(0.001)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 7
    assert all(line.endswith("/s") and "µs" in line for line in lines)
