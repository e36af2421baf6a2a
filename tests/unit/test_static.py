"""Static checks as tests, so that one command covers them: ruff, mypy --strict, import contracts, and the layout of the design."""

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
LONGEST_MODULE = 400
"""Lines; near 100 is the aim."""


def run(*argv: str) -> None:
    done = subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, f"{' '.join(argv)}\n{done.stdout}{done.stderr}"


def modules() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.py"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [path for name in listed.stdout.split("\0") if name and (path := PROJECT / name).is_file()]


@pytest.mark.parametrize("words", [("check", "."), ("format", "--check", ".")], ids=["check", "format"])
def test_ruff(words: tuple[str, ...]) -> None:
    run(sys.executable, "-m", "ruff", *words)


def test_product_is_strictly_typed() -> None:
    run(sys.executable, "-m", "mypy")


def test_harness_and_demo_are_strictly_typed() -> None:
    run(sys.executable, "-m", "mypy", "-p", "tests.cluster", "-p", "tests.demo")


def test_import_contracts_hold() -> None:
    run(str(Path(sys.executable).with_name("lint-imports")), "--no-cache")


def test_operator_folder_is_no_package() -> None:
    """A package called `operator` would shadow the standard library's module for everything that starts in that folder."""
    assert (PROJECT / "operator" / "vertical_operator" / "__init__.py").parent.is_dir()
    assert sorted(path.name for path in (PROJECT / "operator").glob("*.py")) == []


def test_modules_stay_small() -> None:
    long = {str(path.relative_to(PROJECT)): lines for path in modules() if (lines := len(path.read_text().splitlines())) > LONGEST_MODULE}
    assert long == {}


def test_modules_say_what_they_are_for() -> None:
    silent = [
        str(path.relative_to(PROJECT))
        for path in modules()
        if (text := path.read_text().strip()) and not text.removeprefix("#!/usr/bin/env python3\n").startswith('"""')
    ]
    assert silent == []


def test_names_that_say_nothing_are_not_used() -> None:
    forbidden = {"utils", "util", "helpers", "helper", "manager", "common", "misc"}
    named = [str(path.relative_to(PROJECT)) for path in modules() if path.stem in forbidden or path.parent.name in forbidden]
    assert named == []
