"""The fake server does what the real one does: every case of the conformance module against both."""

from collections.abc import Iterator

import pytest

from tests.triton.server import TritonServer
from vertical_engines.sdk.testing.conformance import cases, differences, fake_run, real_run, write_repository

pytestmark = pytest.mark.triton


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TritonServer]:
    folder = tmp_path_factory.mktemp("conformance")
    write_repository(folder / "models")
    running = TritonServer(repository=folder / "models", folder=folder)
    running.start()
    yield running
    running.stop()


def test_the_fake_server_differs_from_the_real_one_nowhere(server: TritonServer) -> None:
    with fake_run() as fake, real_run(f"127.0.0.1:{server.grpc}") as real:
        assert differences(cases(), fake=fake, real=real) == []
