"""A source that gives other files under the same revision than before: noticed by the engines that stand in the store."""

from pathlib import Path

import pytest

from tests.support.stand_in_builder import StandInBuilder, Workplace, engine_request
from vertical_engines.builders.building import build_engine
from vertical_engines.contract.build import EXIT_USER_ERROR, BuildRequest
from vertical_engines.contract.fetch import FetchedSource
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure

REQUEST = engine_request()


def variant(request: BuildRequest, max_batch_size: int) -> BuildRequest:
    """Another engine of the same source."""
    identity = request.identity.model_copy(update={"build": request.identity.build.model_copy(update={"max_batch_size": max_batch_size})})
    return BuildRequest(key=identity.key(), identity=identity)


def change(workplace: Workplace) -> None:
    (workplace.model / "model.txt").write_text("other weights\n")


def test_two_variants_never_mix_two_models(tmp_path: Path) -> None:
    workplace = Workplace(tmp_path)
    first = workplace.build(REQUEST)
    assert [file.path for file in first.source_files] == ["model.txt"]
    assert first.source_digest == first.source_files[0].sha256
    assert workplace.build(variant(REQUEST, 2)).source_files == first.source_files
    change(workplace)
    builder = StandInBuilder()
    with pytest.raises(Failure) as caught:
        workplace.build(variant(REQUEST, 4), builder)
    assert (caught.value.reason, caught.value.exit_code) == (Reason.MODEL_SOURCE_MOVED, EXIT_USER_ERROR)
    assert "another model.txt than when engine" in caught.value.message
    assert builder.calls == ["check"], "refused before anything is converted"
    assert workplace.leftovers() == []


def test_another_revision_takes_the_new_files(tmp_path: Path) -> None:
    workplace = Workplace(tmp_path)
    workplace.build(REQUEST)
    change(workplace)
    workplace.build(engine_request(revision="2"))


def test_with_the_last_engine_of_a_source_its_past_is_forgotten(tmp_path: Path) -> None:
    workplace = Workplace(tmp_path)
    workplace.build(REQUEST)
    change(workplace)
    with workplace.store.hold(REQUEST.key):
        workplace.store.remove(REQUEST.key)
    workplace.build(REQUEST)


def test_a_damaged_engine_is_no_witness(tmp_path: Path) -> None:
    workplace = Workplace(tmp_path)
    (workplace.root / workplace.build(REQUEST).key / "manifest.json").write_text("{")
    change(workplace)
    workplace.build(variant(REQUEST, 2))


def test_the_commit_stands_in_the_manifest_and_in_the_refusal(tmp_path: Path) -> None:
    workplace = Workplace(tmp_path)

    def build(request: BuildRequest, commit: str) -> str | None:
        fetched = FetchedSource(origin="hub", revision=commit)
        made = build_engine(request, builder=StandInBuilder(), model=workplace.model, store=workplace.store, fetched=fetched, say=print)
        assert made.summary().source_revision == made.source_revision
        return made.source_revision

    assert build(REQUEST, "a" * 40) == "a" * 40
    change(workplace)
    with pytest.raises(Failure, match=f"commit {'a' * 40} then, {'b' * 40} now"):
        build(variant(REQUEST, 2), "b" * 40)
