"""How tests are spread over workers: there is one cluster, so one worker runs all that need it, and the others run the rest meanwhile."""

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

CLUSTER = "tests/cluster/"


class OneClusterScheduling(LoadScopeScheduling):
    """Tests on the cluster stay together; each other file does."""

    def _split_scope(self, nodeid: str) -> str:
        return CLUSTER if nodeid.startswith(CLUSTER) else nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneClusterScheduling | None:
    """For `--dist loadscope`; every other mode is left as it is."""
    return OneClusterScheduling(config, log) if config.getvalue("dist") == "loadscope" else None
