"""The server's container: Triton's command line, ports and the probes that ask the guard."""

from vertical_engines.contract.serving import (
    GRPC_PORT,
    GUARD_PORT,
    METRICS_PORT,
    PYTHON_PATH,
    REPOSITORY_PATH,
    STORE_PATH,
    TRITON_HTTP_PORT,
    inner_models,
)
from vertical_operator.api.v1alpha1.scalars import size_bytes
from vertical_operator.core.identity import Target
from vertical_operator.core.intents import Manifest
from vertical_operator.core.render.pod import SCRATCH_MOUNT, container, mount, resources

SERVER = "/opt/tritonserver"
EXIT_TIMEOUT = 20
"""Seconds that Triton waits for requests after TERM; the guard has drained before."""

# Both volumes outlive a restart of the container, and a server that was killed leaves its shared memory behind.
SHARED_MEMORY = "triton_python_backend_shm_region_"
CLEAN_START = f"rm -rf /dev/shm/{SHARED_MEMORY}* /tmp/python_env_*"

# While it loads, a server does not listen to TERM, and as process 1 of its container it would not be ended by it either: its pod
# would keep the GPU for the whole grace period. A child of the shell is ended. `wait` returns early when a signal comes.
AS_CHILD = """"$0" "$@" & server=$!
trap 'kill -TERM $server' TERM INT
while wait $server; code=$?; kill -0 $server 2>/dev/null; do :; done
exit $code"""
AS_FIRST = 'exec "$0" "$@"'


def arguments(target: Target) -> list[str]:
    """Options of tritonserver. HTTP is on loopback: the guard stands in front of it."""
    cache = target.variant.response_cache
    # TensorRT-LLM's LLM API model sets part of its configuration itself, which this option would forbid.
    complete = [] if target.identity.toolchain.backend == "TensorRTLLMPyTorch" else ["--disable-auto-complete-config"]
    return [
        f"--model-repository={REPOSITORY_PATH}",
        f"--backend-directory={SERVER}/backends",
        f"--cache-directory={SERVER}/caches",
        *([f"--cache-config=local,size={size_bytes(cache.size)}"] if cache else []),
        "--backend-config=python,shm-default-byte-size=1048576",
        *complete,
        "--http-address=127.0.0.1",
        f"--http-port={TRITON_HTTP_PORT}",
        f"--grpc-port={GRPC_PORT}",
        "--metrics-address=0.0.0.0",  # left out, it is the HTTP address: loopback
        f"--metrics-port={METRICS_PORT}",
        # Milliseconds: gRPC callers are told to reconnect, so that they leave a draining pod and find new replicas.
        "--grpc-max-connection-age=10000",
        "--grpc-max-connection-age-grace=60000",
        f"--exit-timeout-secs={EXIT_TIMEOUT}",
        # Tables of options and the course of the shutdown would push the cause out of a crashed server's last words.
        "--log-info=false",
    ]


def command(target: Target) -> list[str]:
    """The server, or under mpirun one server a GPU: TensorRT-LLM's engines of several GPUs want a process each. Only the first one
    listens and loads every model; the others load their part of the engine and never come further."""
    server, options, accelerator = f"{SERVER}/bin/tritonserver", arguments(target), target.identity.accelerator
    if target.identity.toolchain.backend != "TensorRTLLM" or accelerator is None or accelerator.count == 1:
        return [server, *options]
    engine = inner_models(target.service.spec.model.name).engine
    # By default each process would be bound to one core.
    words = ["mpirun", "--bind-to", "none"]
    for rank in range(accelerator.count):
        own = [f"--backend-config=python,shm-region-prefix-name={SHARED_MEMORY}rank{rank}_"]
        own += ["--model-control-mode=explicit", f"--load-model={engine}"] if rank else []
        words += [*([":"] if rank else []), "-n", "1", server, *options, *own]
    return words


def watched(target: Target) -> list[str]:
    """What runs the server. TensorRT-LLM says why it could not load an engine far above the end of the log, which is all that the
    kubelet keeps: so one of ours reads along, and passes TERM on."""
    return [] if target.release.cpu_only else ["vertical-engines", "serve", "--"]


def _probe(path: str, *, period: int, failures: int, **more: int) -> Manifest:
    get = {"path": path, "port": GUARD_PORT}
    return {"httpGet": get, "periodSeconds": period, "timeoutSeconds": 2, "failureThreshold": failures, **more}


def triton(target: Target, *, start_deadline: int) -> Manifest:
    """`start_deadline` in seconds: how long loading may take before the container is started anew."""
    watcher = watched(target)
    return container(
        "triton",
        target.identity.toolchain.image,
        command=["/bin/sh", "-c", "\n".join((CLEAN_START, AS_FIRST if watcher else AS_CHILD)), *watcher, *command(target)],
        mounts=[
            mount("repository", REPOSITORY_PATH, read_only=True),
            mount("repository-python", PYTHON_PATH, read_only=True),
            mount("store", STORE_PATH, read_only=True),
            SCRATCH_MOUNT,
            mount("shared-memory", "/dev/shm"),
        ],
        env=[{"name": "HOME", "value": "/tmp"}],
        ports=[{"name": "grpc", "containerPort": GRPC_PORT}, {"name": "metrics", "containerPort": METRICS_PORT}],
        resources=resources(target.placement.resources, target.identity.accelerator),
        # The last lines of the log of a server that ends: the operator translates what it knows of them.
        terminationMessagePolicy="FallbackToLogsOnError",
        startupProbe=_probe("/startupz", period=2, failures=max(1, start_deadline // 2)),
        readinessProbe=_probe("/readyz", period=1, failures=1),
        # A server with a dead stub does not end on TERM: without a grace of its own the pod's 120 s would pass.
        livenessProbe=_probe("/livez", period=1, failures=3, terminationGracePeriodSeconds=2),
        lifecycle={"preStop": {"httpGet": {"path": "/drain", "port": GUARD_PORT}}},
    )
