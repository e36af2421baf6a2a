"""The serving plan: what the operator hands to the init container `assemble` and to the guard, as one JSON file."""

from pydantic import Field

from vertical_engines.contract.additions import joined
from vertical_engines.contract.engine import BuildFlags, Toolchain
from vertical_engines.contract.frozen import Frozen
from vertical_engines.contract.toolchains import Matrix, Release, Toolchains, matrix

PLAN_NAME = "serving.json"
"""Key of the ConfigMap that holds the plan."""

TRITON_HTTP_PORT = 8010
"""Loopback only: the guard is in front of it."""
HTTP_PORT = 8000
GRPC_PORT = 8001
METRICS_PORT = 8002
GUARD_PORT = 8090

STORE_PATH = "/store"
MODEL_PATH = "/model"
TOOLS_PATH = "/tools"
PIPELINE_PATH = "/pipeline"
REPOSITORY_PATH = "/repository"
PYTHON_PATH = "/repository-python"
"""Packages of the pipeline image (its reserved folder `python`); every runtime image has it on its module path."""
CONFIG_PATH = "/config"
SCRATCH_PATH = "/tmp"

CANARY_NAME = "canary.json"
"""File in the entry model's folder: one inference request (KServe v2 JSON); `{nonce}` in strings is replaced each time."""


def config_name(model: str) -> str:
    """Key of the ConfigMap that holds a model's rendered config.pbtxt."""
    return f"{model}.config.pbtxt"


class InnerModels(Frozen):
    """Names of the Triton models behind an SLM that is served by TensorRT-LLM; its own model calls them."""

    preprocessing: str
    engine: str
    postprocessing: str


def inner_models(model: str) -> InnerModels:
    """They begin with the SLM's name, so that they meet no model of a pipeline."""
    return InnerModels(preprocessing=f"{model}_preprocessing", engine=f"{model}_tensorrt_llm", postprocessing=f"{model}_postprocessing")


class GuardSettings(Frozen):
    """Times in seconds. `drain_max` must exceed `lame + 1.1 * grpc connection age + longest request`."""

    canary_interval: float = 5.0
    canary_timeout: float = 1.0
    dead_after: float = 60.0
    """A server with no successful inference for so long is dead; must exceed the longest request."""
    lame: float = 5.0
    quiet: float = 1.0
    drain_max: float = 40.0
    body_limit: int = 3 * 1024 * 1024
    """Bytes of a JSON body: Triton dies at 4 MiB."""


class ServingPlan(Frozen):
    """What one placement of one variant serves."""

    service: str
    variant: str
    placement: str
    engine_key: str
    model_name: str
    """Triton name of the SLM."""
    model_version: int
    entrypoint: str
    toolchain: Toolchain
    toolchains: Toolchains | None = None
    """What the installation knows of the release, when it is one of its own (`contract.additions`)."""
    gpu_product: str | None = None
    build: BuildFlags
    response_cache_models: list[str] = Field(default_factory=list)
    parameters: dict[str, str] = Field(default_factory=dict)
    guard: GuardSettings = Field(default_factory=GuardSettings)

    @property
    def release(self) -> Release | None:
        """The matrix row of the toolchain; None when neither the image nor the plan knows it."""
        known = Matrix(joined(matrix().file, self.toolchains)) if self.toolchains else matrix()
        return known.release(backend=self.toolchain.backend, name=self.toolchain.release)
