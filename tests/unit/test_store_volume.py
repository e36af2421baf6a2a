"""The volume store: what stands in it after a build, a reuse, a failure and a removal."""

import errno
import json
import os
import threading
from pathlib import Path

import pytest

from tests.support.stand_in_builder import StandInBuilder, Workplace, engine_request
from vertical_engines.contract.build import EXIT_RETRYABLE
from vertical_engines.contract.manifest import MANIFEST_NAME
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.store.failures import EngineCorrupt, EngineMissing
from vertical_engines.store.reading import open_engine
from vertical_engines.store.volume import VolumeStore

REQUEST = engine_request()


@pytest.fixture
def workplace(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path)


def test_a_built_engine_holds_its_files_and_a_manifest_that_describes_them(workplace: Workplace) -> None:
    manifest = workplace.build(REQUEST)
    engine = workplace.root / REQUEST.key
    assert {file.path: file.size for file in manifest.files} == {"tokenizer/vocabulary.txt": 1, "weights.bin": 800}
    assert open_engine(workplace.root, REQUEST.key, digests=True) == manifest
    assert {path.name for path in engine.iterdir()} == {"weights.bin", "tokenizer", MANIFEST_NAME}
    assert workplace.leftovers() == []


def test_an_engine_that_stands_is_not_built_again(workplace: Workplace) -> None:
    first = workplace.build(REQUEST)
    again = StandInBuilder()
    assert workplace.build(REQUEST, again) == first
    assert again.calls == []


def test_two_keys_stand_side_by_side(workplace: Workplace) -> None:
    other = engine_request("2")
    workplace.build(REQUEST)
    workplace.build(other)
    assert (workplace.root / other.key / "tokenizer/vocabulary.txt").read_text() == "2"
    assert (workplace.root / REQUEST.key / "tokenizer/vocabulary.txt").read_text() == "1"


def damage_size(engine: Path) -> None:
    (engine / "weights.bin").write_text("short")


def damage_one_byte(engine: Path) -> None:
    weights = engine / "weights.bin"
    weights.write_bytes(b"W" + weights.read_bytes()[1:])


def damage_manifest(engine: Path) -> None:
    (engine / MANIFEST_NAME).write_text('{"key": ')


def damage_manifest_binary(engine: Path) -> None:
    (engine / MANIFEST_NAME).write_bytes(b"\xff\xfe\x00")


def put_another_engines_manifest(engine: Path) -> None:
    document = json.loads((engine / MANIFEST_NAME).read_text())
    document["identity"]["revision"] = "another"
    (engine / MANIFEST_NAME).write_text(json.dumps(document))


def remove_a_file(engine: Path) -> None:
    (engine / "tokenizer" / "vocabulary.txt").unlink()


def remove_manifest(engine: Path) -> None:
    (engine / MANIFEST_NAME).unlink()


DAMAGES = [
    damage_size,
    damage_one_byte,
    damage_manifest,
    damage_manifest_binary,
    put_another_engines_manifest,
    remove_a_file,
    remove_manifest,
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_or_unfinished_engine_is_refused_by_readers_and_built_again(workplace: Workplace, damage) -> None:
    workplace.build(REQUEST)
    damage(workplace.root / REQUEST.key)
    with pytest.raises((EngineCorrupt, EngineMissing)) as refused:
        open_engine(workplace.root, REQUEST.key, digests=True)
    assert (refused.type is EngineMissing) == (damage is remove_manifest)
    again = StandInBuilder()
    workplace.build(REQUEST, again)
    assert again.calls == ["check", "convert", "smoke_test"]
    assert open_engine(workplace.root, REQUEST.key, digests=True).key == REQUEST.key
    assert workplace.leftovers() == []


def test_readers_check_sizes_and_when_asked_every_byte(workplace: Workplace) -> None:
    workplace.build(REQUEST)
    damage_one_byte(workplace.root / REQUEST.key)
    assert open_engine(workplace.root, REQUEST.key).key == REQUEST.key
    with pytest.raises(EngineCorrupt, match=r"weights\.bin has another sha256"):
        open_engine(workplace.root, REQUEST.key, digests=True)
    damage_size(workplace.root / REQUEST.key)
    with pytest.raises(EngineCorrupt, match=r"weights\.bin has 5 bytes instead of 800"):
        open_engine(workplace.root, REQUEST.key)


def test_an_engine_that_was_never_built_is_missing(workplace: Workplace) -> None:
    with pytest.raises(EngineMissing, match="is not in the store"):
        open_engine(workplace.root, REQUEST.key)


def test_a_failed_build_leaves_nothing_and_the_old_words(workplace: Workplace) -> None:
    def fail(folder: Path) -> None:
        raise Failure(Reason.MODEL_INVALID, "no model")

    with pytest.raises(Failure, match="no model"):
        workplace.build(REQUEST, StandInBuilder(during=fail))
    assert workplace.leftovers() == []
    with pytest.raises(EngineMissing):
        open_engine(workplace.root, REQUEST.key)


def test_leftovers_of_dead_builds_go_and_those_of_living_ones_stay(workplace: Workplace) -> None:
    mine, dead, living = REQUEST.key, engine_request("dead").key, engine_request("living").key
    for key in (mine, dead, living):
        (workplace.root / ".tmp" / f"{key}-0000").mkdir(parents=True)
    with workplace.store.hold(living):
        workplace.build(REQUEST)
        assert workplace.leftovers() == [f"{living}-0000"]
    assert sorted(path.name for path in (workplace.root / ".locks").iterdir()) == sorted([mine, living])


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_store_that_fills_up_says_how_much_is_needed_and_free(workplace: Workplace, number: int) -> None:
    def fill_up(folder: Path) -> None:
        raise OSError(number, os.strerror(number))

    with pytest.raises(Failure) as full:
        workplace.build(REQUEST, StandInBuilder(during=fill_up, needed=12_300_000))
    assert full.value.reason is Reason.STORE_FULL
    assert full.value.exit_code == EXIT_RETRYABLE
    assert "about 12.3 MB needed" in full.value.message
    assert "MB free" in full.value.message
    assert workplace.leftovers() == []


def test_a_store_too_small_is_found_before_anything_is_built(workplace: Workplace) -> None:
    builder = StandInBuilder(needed=1 << 60)
    with pytest.raises(Failure, match="has no room") as full:
        workplace.build(REQUEST, builder)
    assert full.value.reason is Reason.STORE_FULL
    assert builder.calls == ["check"]


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ESTALE, errno.EIO])
def test_a_store_that_can_not_be_written_is_told_from_a_model_that_can_not_be_read(workplace: Workplace, number: int) -> None:
    def of_the_store(folder: Path) -> None:
        raise OSError(number, os.strerror(number), str(folder / "weights.bin"))

    def of_the_model(folder: Path) -> None:
        raise OSError(number, os.strerror(number), "/model/model.gguf")

    with pytest.raises(Failure) as unavailable:
        workplace.build(REQUEST, StandInBuilder(during=of_the_store))
    assert unavailable.value.reason is Reason.STORE_UNAVAILABLE
    assert unavailable.value.exit_code == EXIT_RETRYABLE
    assert os.strerror(number) in unavailable.value.message
    with pytest.raises(OSError, match=r"model\.gguf"):
        workplace.build(REQUEST, StandInBuilder(during=of_the_model))


def test_a_store_that_is_not_mounted_is_unavailable(tmp_path: Path) -> None:
    store = VolumeStore(tmp_path / "absent", say=lambda line: None)
    with pytest.raises(Failure, match="no such folder") as unavailable, store.hold(REQUEST.key):
        pass
    assert unavailable.value.reason is Reason.STORE_UNAVAILABLE


def test_removing_is_complete_and_can_be_repeated(workplace: Workplace) -> None:
    workplace.build(REQUEST)
    (workplace.root / ".tmp" / f"{REQUEST.key}-0000").mkdir(parents=True)
    found = []
    for _ in range(2):
        with workplace.store.hold(REQUEST.key):
            found.append(workplace.store.remove(REQUEST.key))
    assert found == [True, False]
    assert not (workplace.root / REQUEST.key).exists()
    assert workplace.leftovers() == []
    assert list((workplace.root / ".locks").iterdir()) == []


@pytest.mark.parametrize("key", ["", "../../etc", "A" * 64, "0" * 63, "0" * 64 + "/.."])
def test_only_keys_reach_the_file_system(workplace: Workplace, key: str) -> None:
    with pytest.raises(Failure, match="not an engine key") as refused, workplace.store.hold(key):
        pass
    assert refused.value.reason is Reason.INVALID_SPEC


def test_two_builds_of_one_key_at_once_build_once(workplace: Workplace) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def pause(folder: Path) -> None:
        begun.set()
        assert go_on.wait(20)

    first, second = StandInBuilder(during=pause), StandInBuilder()
    threads = [threading.Thread(target=workplace.build, args=(REQUEST, builder)) for builder in (first, second)]
    threads[0].start()
    assert begun.wait(20)
    threads[1].start()
    while not any("waiting for it" in line for line in workplace.lines):
        assert threads[1].is_alive()
    go_on.set()
    for thread in threads:
        thread.join(20)
    assert first.calls == ["check", "convert", "smoke_test"]
    assert second.calls == []
    assert open_engine(workplace.root, REQUEST.key, digests=True).key == REQUEST.key
