"""`store list`, `store verify` and `store prune` on a store with sound, damaged, unfinished and unwanted engines."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.stand_in_builder import Workplace, engine_request
from vertical_engines.cli import app

KEYS = [engine_request(revision=name).key for name in ("1", "2", "3")]


@pytest.fixture
def workplace(tmp_path: Path) -> Workplace:
    workplace = Workplace(tmp_path)
    for name in ("1", "2", "3"):
        workplace.build(engine_request(revision=name))
    return workplace


def run(workplace: Workplace, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["store", *arguments, "--store", str(workplace.root)])
    return result.exit_code, result.output


def states(workplace: Workplace, *arguments: str) -> tuple[int, dict[str, str], dict[str, Any]]:
    code, text = run(workplace, *arguments, "--json")
    content = json.loads(text)
    return code, {entry["key"]: entry["state"] for entry in content["engines"]}, content["store"]


def files(workplace: Workplace) -> list[Path]:
    return sorted(path for path in workplace.root.rglob("*") if ".locks" not in path.parts)


def alter(workplace: Workplace, key: str) -> None:
    """Same size, other bytes."""
    path = workplace.root / key / "weights.bin"
    path.write_bytes(b"W" + path.read_bytes()[1:])


def test_a_sound_store_is_listed_with_sizes_and_room(workplace: Workplace) -> None:
    code, text = run(workplace, "list")
    assert code == 0
    assert all(key in text for key in KEYS)
    assert "OpenVINO 2026.4  in512/out32/batch1/contiguous  ok" in text
    code, seen, store = states(workplace, "verify")
    assert (code, seen) == (0, dict.fromkeys(sorted(KEYS), "ok"))
    assert store["engines"] == 3


def test_only_verify_reads_every_byte(workplace: Workplace) -> None:
    alter(workplace, KEYS[0])
    assert states(workplace, "list")[0] == 0
    code, seen, _ = states(workplace, "verify")
    assert code == 1
    assert "sha256" in seen[KEYS[0]]
    assert [seen[key] for key in KEYS[1:]] == ["ok", "ok"]
    assert states(workplace, "verify", "--key", KEYS[1])[0] == 0
    assert "EngineMissing" in states(workplace, "verify", "--key", "0" * 64)[1]["0" * 64]


def test_an_unfinished_engine_is_named(workplace: Workplace) -> None:
    (workplace.root / KEYS[2] / "manifest.json").unlink()
    code, seen, _ = states(workplace, "list")
    assert code == 1
    assert "never finished" in seen[KEYS[2]]


def test_prune_says_first_and_removes_only_when_told(workplace: Workplace) -> None:
    before = files(workplace)
    code, text = run(workplace, "prune", "--keep", KEYS[0])
    assert code == 0
    assert "say --yes" in text
    assert sorted(path for path in workplace.root.rglob("*") if ".locks" not in path.parts) == [
        p for p in before if ".locks" not in p.parts
    ]
    code, text = run(workplace, "prune", "--keep", KEYS[0], "--yes")
    assert (code, "1 engines kept" in text) == (0, True)
    assert states(workplace, "list")[1] == {KEYS[0]: "ok"}
    assert list((workplace.root / ".locks").glob("*")) == [workplace.root / ".locks" / KEYS[0]]


def test_prune_takes_leftovers_of_dead_builds_and_leaves_what_is_at_work(workplace: Workplace) -> None:
    dead, busy = "a" * 64, KEYS[1]
    (workplace.root / ".tmp" / f"{dead}-12345678").mkdir(parents=True)
    (workplace.root / ".tmp" / f"{KEYS[0]}-12345678").mkdir(parents=True)
    with workplace.store.hold(busy):
        code, text = run(workplace, "prune", "--keep", KEYS[0], "--yes")
    assert code == 0
    assert f"{busy}: left alone" in text
    assert workplace.leftovers() == []
    assert set(states(workplace, "list")[1]) == {KEYS[0], busy}


REFUSED = {"no key": [], "no hex": ["--keep", "engine-1"], "a short key": ["--keep", KEYS[0][:10]]}


@pytest.mark.parametrize("arguments", REFUSED.values(), ids=REFUSED.keys())
def test_prune_refuses_a_list_that_can_not_be_meant(workplace: Workplace, arguments: list[str]) -> None:
    """An empty list is what a failed look at the Engines gives."""
    assert run(workplace, "prune", *arguments, "--yes")[0] == 2
    assert set(states(workplace, "list")[1]) == set(KEYS)


def test_everything_may_go_when_it_is_said_in_so_many_words(workplace: Workplace) -> None:
    assert run(workplace, "prune", "--keep-nothing", "--yes")[0] == 0
    assert states(workplace, "list")[1] == {}


def test_a_store_that_is_not_there_is_told(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["store", "list", "--store", str(tmp_path / "nowhere")])
    assert result.exit_code == 75
    assert "no such folder" in result.output
