"""What an image is made from, and when it is made again; image archives without a daemon."""

import json
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.cluster.errors import ClusterError
from tests.cluster.image_archive import write_image
from tests.cluster.image_table import IMAGES, ProjectImage, context_digest, context_files, copied_paths, image
from tests.cluster.locations import PROJECT
from tests.cluster.pip_settings import parse_settings

DOCKERFILE = """\
FROM debian:12-slim AS build
COPY --chown=1000:1000 engines/one.txt \\
     engines/package /code/
RUN true
FROM scratch
COPY --from=build /code /code
ADD data/*.json /data/
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A git checkout with a Dockerfile, the files that it copies, and some that it does not."""
    files = {
        "Dockerfile": DOCKERFILE,
        ".gitignore": "__pycache__/\n",
        "engines/one.txt": "1",
        "engines/package/a.py": "a",
        "engines/package/__pycache__/a.pyc": "compiled",
        "engines/other.txt": "not copied",
        "data/x.json": "{}",
        "data/y.txt": "not copied",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path


ROW = ProjectImage("thing:dev", "Dockerfile", 1)


def test_sources_of_copy_and_add_are_found_across_lines() -> None:
    assert copied_paths(DOCKERFILE) == ["engines/one.txt", "engines/package", "data/*.json"]


def test_a_remote_source_is_refused() -> None:
    with pytest.raises(ClusterError, match=r"https://example\.com/x"):
        copied_paths("FROM scratch\nADD https://example.com/x /x\n")


def test_context_holds_what_is_copied_and_nothing_that_git_ignores(project: Path) -> None:
    assert [str(path) for path in context_files(ROW, project=project)] == ["data/x.json", "engines/one.txt", "engines/package/a.py"]


@pytest.mark.parametrize("name", ["Dockerfile", "engines/one.txt", "engines/package/a.py", "engines/package/new.py", "data/z.json"])
def test_digest_changes_with_every_file_that_the_image_sees(project: Path, name: str) -> None:
    before = context_digest(ROW, project=project)
    (project / name).write_text((DOCKERFILE if name == "Dockerfile" else "") + "# changed\n")
    assert context_digest(ROW, project=project) != before


@pytest.mark.parametrize("name", ["engines/other.txt", "data/y.txt", "engines/package/__pycache__/a.pyc", "README.md"])
def test_digest_ignores_everything_else(project: Path, name: str) -> None:
    before = context_digest(ROW, project=project)
    (project / name).write_text("changed")
    assert context_digest(ROW, project=project) == before


def test_digest_changes_with_the_executable_bit(project: Path) -> None:
    before = context_digest(ROW, project=project)
    (project / "engines/one.txt").chmod(0o755)
    assert context_digest(ROW, project=project) != before


def test_a_source_that_does_not_exist_is_named(project: Path) -> None:
    (project / "Dockerfile").write_text("FROM scratch\nCOPY nothing /x\n")
    with pytest.raises(ClusterError, match="nothing"):
        context_digest(ROW, project=project)


def test_every_image_of_the_table_has_a_dockerfile_with_an_existing_context() -> None:
    for row in IMAGES:
        assert (PROJECT / row.dockerfile).exists(), row.dockerfile
        assert len(context_digest(row)) == 64
        assert image(row.reference) is row


def test_an_unknown_image_names_the_known_ones() -> None:
    with pytest.raises(ClusterError, match="vertical-operator:dev"):
        image("nothing:1")


def test_archive_is_a_docker_archive_that_names_its_layer(tmp_path: Path) -> None:
    folder = tmp_path / "content"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/sh").write_text("#!")
    archive = tmp_path / "image.tar"
    write_image("localhost/thing:1", folder, archive, entrypoint=["/bin/sh"], command=["-c"])
    with tarfile.open(archive) as tar:
        [entry] = json.load(tar.extractfile("manifest.json") or pytest.fail("no manifest"))
        config = json.load(tar.extractfile(entry["Config"]) or pytest.fail("no config"))
        layer = tar.extractfile(entry["Layers"][0]) or pytest.fail("no layer")
        content = layer.read()
    import hashlib

    assert entry["RepoTags"] == ["localhost/thing:1"]
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(content).hexdigest()}"]
    assert len(config["history"]) == len(config["rootfs"]["diff_ids"])
    assert (config["config"]["Entrypoint"], config["config"]["Cmd"]) == (["/bin/sh"], ["-c"])
    assert not archive.with_suffix(".partial").exists()


def test_pip_settings_of_the_environment_win() -> None:
    listed = "global.cert='/etc/company.crt'\n:env:.cert='/tmp/own.crt'\nglobal.index-url='https://mirror.example.com/simple'\n"
    assert parse_settings(listed) == {"cert": "/tmp/own.crt", "index-url": "https://mirror.example.com/simple"}
    assert parse_settings("") == {}
