"""Pins, stamps and versions of the compiled binaries."""

from pathlib import Path

import pytest

from tests.cluster import gotools
from tests.cluster.golang import parse_version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("go version go1.26.8 linux/amd64", (1, 26)),
        ("go version go1.19.8 linux/amd64", (1, 19)),
        ("go version devel go1.28-abcdef Tue", (1, 28)),
        ("zsh: command not found: go", None),
    ],
)
def test_go_versions_are_read(text: str, version: tuple[int, int] | None) -> None:
    assert parse_version(text) == version


def test_every_tool_has_a_module_that_pins_it() -> None:
    for tool in gotools.TOOLS.values():
        text = (gotools.module_folder(tool) / "go.mod").read_text()
        module = tool.package.split("/cmd/")[0]
        assert module == "." or module in text, tool.name


def test_kubernetes_version_comes_from_the_pin() -> None:
    assert gotools.kubernetes_version().startswith("v1.34.")
    flags = " ".join(gotools._flags(gotools.TOOLS["kubelet"]))
    assert f"gitVersion={gotools.kubernetes_version()}" in flags
    assert "gitMinor=34" in flags


def test_an_unknown_module_is_an_error() -> None:
    with pytest.raises(LookupError, match=r"example\.com/nothing"):
        gotools.pinned_version("example.com/nothing", folder="k8s")


def test_a_binary_is_fresh_only_with_the_stamp_of_these_pins(tmp_path: Path) -> None:
    tool = gotools.TOOLS["pause"]
    assert not gotools.fresh(tool, folder=tmp_path)
    (tmp_path / "pause").write_bytes(b"binary")
    assert not gotools.fresh(tool, folder=tmp_path), "a binary without a stamp was cut off, or is somebody else's"
    (tmp_path / ".pause.stamp").write_text("0" * 64)
    assert not gotools.fresh(tool, folder=tmp_path), "made from other pins"
    (tmp_path / ".pause.stamp").write_text(gotools.fingerprint(tool))
    assert gotools.fresh(tool, folder=tmp_path)


def test_binaries_of_different_pins_have_different_fingerprints() -> None:
    prints = {gotools.fingerprint(tool) for tool in gotools.TOOLS.values()}
    assert len(prints) == len(gotools.TOOLS)


def test_a_build_that_fails_leaves_no_binary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.cluster.errors import ClusterError

    broken = gotools.GoTool("broken", "pause", "./does-not-exist", 1)
    monkeypatch.setitem(gotools.TOOLS, "broken", broken)
    monkeypatch.setattr(gotools, "bin_folder", lambda: tmp_path)
    monkeypatch.setattr(gotools, "go", lambda: "false")
    with pytest.raises(ClusterError, match="what is built already is kept"):
        gotools.ensure_tools(["broken"])
    assert not (tmp_path / "broken").exists()
    assert not (tmp_path / ".broken.stamp").exists()
