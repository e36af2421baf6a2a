"""The command line as people meet it: what it prints, and what it says to bad input."""

import importlib
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from tests.support.combinations import on
from tests.support.objects import service
from vertical_operator.cli import app

PROJECT = Path(__file__).parents[2]
EXAMPLE = PROJECT / "docs" / "examples" / "poi-matching-cpu.yaml"

runner = CliRunner()


def rendered(*arguments: str) -> list[dict[str, object]]:
    result = runner.invoke(app, ["render", *arguments])
    assert result.exit_code == 0, result.stderr
    return list(yaml.safe_load_all(result.stdout))


def test_render_prints_every_child_of_the_example() -> None:
    kinds = [child["kind"] for child in rendered("-f", str(EXAMPLE))]
    assert sorted(set(kinds)) == ["ConfigMap", "Deployment", "Engine", "Job", "PersistentVolumeClaim", "Service"]
    assert [kinds.count(kind) for kind in ("Engine", "Job", "ConfigMap", "Deployment", "Service")] == [2, 2, 2, 2, 2]


def test_render_puts_children_where_it_is_told() -> None:
    children = rendered("-f", str(EXAMPLE), "-n", "somewhere")
    assert {child["metadata"]["namespace"] for child in children} == {"somewhere"}  # type: ignore[index]


def test_render_uses_the_mirror_for_toolchain_images_only() -> None:
    text = yaml.dump(rendered("-f", str(EXAMPLE), "--registry", "mirror.example.com/x"))
    assert "mirror.example.com/x/vertical-engines-openvino" in text
    assert "mirror.example.com/x/vertical-poi-matching" not in text


def test_render_takes_another_toolchain_image() -> None:
    text = yaml.dump(rendered("-f", str(EXAMPLE), "--toolchain-image", "OpenVINO/2026.4=mine:1"))
    assert "image: mine:1" in text


def test_rendering_twice_gives_the_same_bytes() -> None:
    first, second = (runner.invoke(app, ["render", "-f", str(EXAMPLE)]).stdout for _ in range(2))
    assert first == second


def test_render_reads_standard_input() -> None:
    result = runner.invoke(app, ["render", "-f", "-"], input=EXAMPLE.read_text())
    assert result.exit_code == 0


def broken(change: str, by: str) -> str:
    text = EXAMPLE.read_text()
    assert change in text
    return text.replace(change, by, 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "holds no VerticalService"),
        ("a: [", "not YAML"),
        ("just text", "expected apiVersion"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: x}", "expected apiVersion serving.vertical-operator.io/v1alpha1"),
        ("apiVersion: serving.vertical-operator.io/v1alpha1\nkind: VerticalService\nspec: {}", "metadata.name: missing"),
        (broken("max_batch_size: 1", "max_batch_size: 0"), "max_batch_size"),
        (broken("  pipeline:", "  pipline:"), "spec.pipline"),
        (broken('release: "2026.4"', 'release: "1999.1"'), "UnknownToolchain"),
    ],
)
def test_render_names_what_is_wrong(text: str, words: str) -> None:
    result = runner.invoke(app, ["render", "-f", "-"], input=text)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert words in result.stderr
    assert all(line.startswith("vertical-operator render: ") for line in result.stderr.splitlines())


def test_render_of_a_missing_file_says_so(tmp_path: Path) -> None:
    result = runner.invoke(app, ["render", "-f", str(tmp_path / "none.yaml")])
    assert (result.exit_code, "No such file" in result.stderr) == (2, True)


def test_render_of_a_malformed_override_says_so() -> None:
    result = runner.invoke(app, ["render", "-f", str(EXAMPLE), "--toolchain-image", "OpenVINO"])
    assert (result.exit_code, "<backend>/<release>=<image>" in result.stderr) == (2, True)


def test_render_knows_what_the_installation_adds(tmp_path: Path) -> None:
    body = yaml.safe_dump(service(*on("NVIDIA-X9000", "26.06-site")))
    values = PROJECT / "charts" / "vertical-operator" / "ci" / "toolchains-values.yaml"
    (tmp_path / "added.yaml").write_text(yaml.safe_dump(yaml.safe_load(values.read_text())["extraToolchains"]))
    assert runner.invoke(app, ["render", "-f", "-"], input=body).exit_code == 2
    result = runner.invoke(app, ["render", "-f", "-", "--toolchains", str(tmp_path / "added.yaml")], input=body)
    assert result.exit_code == 0
    assert "vertical-engines-tensorrt-llm:26.06-site" in result.stdout


def test_crd_prints_what_is_committed() -> None:
    result = runner.invoke(app, ["crd"])
    printed = {body["metadata"]["name"]: body for body in yaml.safe_load_all(result.stdout)}
    committed = {
        body["metadata"]["name"]: body for body in (yaml.safe_load(path.read_text()) for path in (PROJECT / "crds").glob("*.yaml"))
    }
    assert printed == committed
    assert len(printed) == 2


def test_crd_writes_files(tmp_path: Path) -> None:
    result = runner.invoke(app, ["crd", "--write", str(tmp_path / "new")])
    assert result.exit_code == 0
    assert {path.name for path in (tmp_path / "new").iterdir()} == {path.name for path in (PROJECT / "crds").glob("*.yaml")}


def test_crd_into_a_place_that_can_not_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = runner.invoke(app, ["crd", "--write", str(tmp_path / "file")])
    assert (result.exit_code, str(tmp_path) in result.stderr) == (1, True)


def test_version_is_that_of_the_distribution() -> None:
    assert f'version = "{runner.invoke(app, ["version"]).stdout.strip()}"' in (PROJECT / "pyproject.toml").read_text()


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"OPERATOR_WORKERS": "0"}, "OPERATOR_WORKERS='0'"),
        ({"OPERATOR_KUBECONFIG": "/nowhere/config"}, "/nowhere/config: no such kubeconfig file"),
        ({}, "set OPERATOR_KUBECONFIG"),
        ({"OPERATOR_TOOLCHAINS_FILE": "/nowhere/toolchains.json"}, "OPERATOR_TOOLCHAINS_FILE: /nowhere/toolchains.json: No such file"),
    ],
)
def test_run_without_a_usable_setting_ends_with_one_line(variables: dict[str, str], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setattr(importlib.import_module("vertical_operator.cli.run"), "configure_logs", lambda _level: None)
    result = runner.invoke(app, ["run"], env=variables)
    assert result.exit_code == 2
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1
