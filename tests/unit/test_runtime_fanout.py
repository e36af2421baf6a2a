"""Events of a shared engine wake its owners when it matters to them, and a newcomer wakes nobody else."""

from typing import Any

from vertical_operator.api.v1alpha1.group import API_VERSION
from vertical_operator.runtime.fanout import Fanout
from vertical_operator.runtime.keys import Key

ENGINE = Key("Engine", "n", "e")


def owner(name: str) -> Key:
    return Key("VerticalService", "n", name)


def engine(*owners: str, **changes: Any) -> dict[str, Any]:
    references = [{"apiVersion": API_VERSION, "kind": "VerticalService", "name": name, "uid": f"u-{name}"} for name in owners]
    metadata = {"name": "e", "namespace": "n", "uid": "u1", "generation": 1, "ownerReferences": references}
    return {"apiVersion": API_VERSION, "kind": "Engine", "metadata": metadata, "status": {"state": "Building"}} | changes


def test_a_newcomer_wakes_itself_and_the_engine_only() -> None:
    fanout = Fanout()
    assert fanout.keys("ADDED", engine("a")) == {ENGINE, owner("a")}
    assert fanout.keys("MODIFIED", engine("a", "b")) == {ENGINE, owner("b")}
    assert fanout.keys("MODIFIED", engine("a", "b")) == {ENGINE}


def test_an_owner_whose_reference_was_taken_away_is_woken() -> None:
    fanout = Fanout()
    fanout.keys("ADDED", engine("a", "b"))
    assert fanout.keys("MODIFIED", engine("b")) == {ENGINE, owner("a")}


def test_a_new_status_wakes_every_owner() -> None:
    fanout = Fanout()
    fanout.keys("ADDED", engine("a", "b"))
    assert fanout.keys("MODIFIED", engine("a", "b", status={"state": "Ready"})) == {ENGINE, owner("a"), owner("b")}


def test_deletion_and_lists_wake_everybody() -> None:
    fanout = Fanout()
    fanout.keys("ADDED", engine("a", "b"))
    everybody = {ENGINE, owner("a"), owner("b")}
    assert fanout.keys(None, engine("a", "b")) == everybody
    terminating = engine("a", "b")
    terminating["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert fanout.keys("MODIFIED", terminating) == everybody
    assert fanout.keys("DELETED", terminating) == everybody


def test_a_process_that_has_just_started_wakes_everybody() -> None:
    assert Fanout().keys("MODIFIED", engine("a", "b")) == {ENGINE, owner("a"), owner("b")}


def test_other_kinds_pass_through() -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": engine("a")["metadata"]}
    fanout = Fanout()
    assert fanout.keys("ADDED", body) == fanout.keys("MODIFIED", body) == {owner("a")}
