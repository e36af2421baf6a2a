"""The servers of a session: built or unpacked on first use, each in a folder of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import obstore
import pytest
import yaml
from obstore.store import S3Store

from tests.cluster.gotools import ensure_tools
from tests.cluster.packages import unpacked
from tests.servers.process import free_port, running
from vertical_engines.sources.credentials import Credentials

KEYS = Credentials(access_key_id="tester", secret_access_key="secret-key-of-the-test")


@dataclass(frozen=True)
class ObjectStore:
    """A real S3 server (Versity's gateway over a folder)."""

    port: int
    keys: Credentials
    root: Path

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def bucket(self, name: str) -> S3Store:
        config = {**self.keys.as_config(), "endpoint": self.endpoint, "region": "us-east-1"}
        return S3Store(name, config=config, client_options={"allow_http": True})  # type: ignore[arg-type]

    def put(self, bucket: str, files: dict[str, bytes]) -> None:
        """As an upload by the team that owns the model."""
        (self.root / bucket).mkdir(exist_ok=True)
        for name, content in files.items():
            obstore.put(self.bucket(bucket), name, content, use_multipart=False)


@pytest.fixture(scope="session")
def object_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    folder, port = tmp_path_factory.mktemp("s3"), free_port()
    for name in ("buckets", "attributes"):
        (folder / name).mkdir()
    command = [ensure_tools(["versitygw"]) / "versitygw", "--port", f"127.0.0.1:{port}", "--quiet", "posix"]
    # Attributes in a folder of their own: not every file system has extended ones.
    command += ["--sidecar", folder / "attributes", folder / "buckets"]
    environment = {"ROOT_ACCESS_KEY_ID": KEYS.access_key_id, "ROOT_SECRET_ACCESS_KEY": KEYS.secret_access_key}
    with running(command, port=port, log=folder / "log", environment=environment):
        yield ObjectStore(port, KEYS, folder / "buckets")


@dataclass(frozen=True)
class Registry:
    """A real OCI registry (CNCF Distribution, as Debian ships it); `root` is its folder of files."""

    port: int
    root: Path

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"


@contextmanager
def registry_running(folder: Path, *, authentication: str = "", delete: bool = True) -> Iterator[Registry]:
    port = free_port()
    (folder / "data").mkdir(parents=True)
    settings = {
        "version": 0.1,
        "log": {"level": "error"},
        "storage": {"filesystem": {"rootdirectory": str(folder / "data")}, "delete": {"enabled": delete}},
        "http": {"addr": f"127.0.0.1:{port}"},
        **({"auth": {"htpasswd": {"realm": "engines", "path": authentication}}} if authentication else {}),
    }
    (folder / "config.yml").write_text(yaml.safe_dump(settings))
    program = unpacked(("docker-registry",)) / "usr" / "bin" / "docker-registry"
    with running([program, "serve", folder / "config.yml"], port=port, log=folder / "log"):
        yield Registry(port, folder / "data")


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with registry_running(tmp_path_factory.mktemp("registry") / "open") as served:
        yield served
