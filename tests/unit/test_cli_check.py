"""`vertical-operator check` as people and their pipelines meet it."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result
from typer.testing import CliRunner

from tests.support.combinations import BAD, T4, Bad, on
from tests.support.objects import BUILD, service
from tests.support.sound_combinations import GOOD
from vertical_operator.cli import app

EXAMPLES = sorted((Path(__file__).parents[2] / "docs" / "examples").glob("*.yaml"))
runner = CliRunner()


def check(*words: str, **options: Any) -> Result:
    return runner.invoke(app, ["check", *words], **options)


def given(*bodies: Any) -> Result:
    return check("-f", "-", input=yaml.safe_dump_all(bodies))


@pytest.mark.parametrize("row", BAD, ids=lambda row: row.name)
def test_a_finding_is_one_line_with_field_cause_and_way_out(row: Bad) -> None:
    result = given(row.content())
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 1
    assert result.stdout.startswith(f"standard input: reviews: {row.reason.value}: {row.field}")
    assert [fragment for fragment in row.fragments if fragment not in result.stdout] == []


def test_whatever_works_passes_all_at_once() -> None:
    result = given(*({**service(*changes), "metadata": {"name": f"good-{number}"}} for number, (_, changes) in enumerate(GOOD)))
    assert (result.exit_code, result.stdout) == (0, "")
    assert f"{len(GOOD)} checked, 0 findings" in result.stderr


def test_examples_pass() -> None:
    result = check("-f", str(EXAMPLES[0]), *map(str, EXAMPLES[1:]))
    assert (result.exit_code, result.stdout) == (0, "")


def test_what_the_schema_refuses_is_a_finding_with_its_field() -> None:
    result = given(service((f"{BUILD}.max_batch_size", 0), ("spec.unknown", 1)))
    assert result.exit_code == 1
    assert sorted(line.split(": ")[3] for line in result.stdout.splitlines()) == [
        "spec.unknown",
        "spec.variants[0].buildConfig.max_batch_size",
    ]


def test_json_has_every_part_of_a_finding() -> None:
    body = service(*on(T4, "24.10", paged=False))
    result = check("-f", "-", "-o", "json", "-n", "place", input=yaml.safe_dump_all([{"kind": "Namespace"}, body]))
    assert result.exit_code == 1
    answer = json.loads(result.stdout)
    assert answer["checked"] == 1
    finding = answer["findings"][0]
    assert {key: finding[key] for key in ("file", "document", "namespace", "name", "policy", "field", "reason", "where")} == {
        "file": "standard input",
        "document": 2,
        "namespace": "place",
        "name": "reviews",
        "policy": "release_lacks_architecture",
        "field": "spec.toolchain.release",
        "reason": "GpuArchUnsupported",
        "where": "variant realtime, placement cpu",
    }
    assert all(finding[part] for part in ("what", "why", "instead", "message"))


def test_json_without_findings_is_an_answer_too() -> None:
    result = check("-f", str(EXAMPLES[0]), "-o", "json")
    assert (result.exit_code, json.loads(result.stdout)) == (0, {"checked": 1, "findings": []})


def test_a_list_as_kubectl_writes_it_is_taken_apart() -> None:
    result = given({"apiVersion": "v1", "kind": "List", "items": [service(), service(*on(T4, "24.10"))]})
    assert result.exit_code == 1
    assert "2 checked, 1 finding" in result.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "not YAML"),
        ("kind: Namespace", "holds no VerticalService"),
        ("apiVersion: serving.vertical-operator.io/v1alpha1\nkind: VerticalService\nspec: {}", "metadata.name: missing"),
    ],
)
def test_input_that_cannot_be_used_is_told_from_findings(text: str, words: str) -> None:
    result = check("-f", "-", input=text)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr


def test_additions_of_the_installation_count(tmp_path: Path) -> None:
    additions = tmp_path / "toolchains.yaml"
    additions.write_text("gpus: {NVIDIA-X9000: {sm: 75, memory: 16000}}")
    body = yaml.safe_dump(service(*on("NVIDIA-X9000", "26.06")))
    assert check("-f", "-", input=body).exit_code == 0, "a GPU that nobody knows is let through"
    result = check("-f", "-", "--toolchains", str(additions), input=body)
    assert result.exit_code == 1
    assert "does not run on NVIDIA-X9000" in result.stdout
    additions.write_text("gpus: {NVIDIA-X9000: {sm: 75}}")
    assert check("-f", "-", "--toolchains", str(additions), input=body).exit_code == 2
