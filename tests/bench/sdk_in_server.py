"""What the SDK costs in a real server, beside hand-written models, interleaved: `python -m tests.bench.sdk_in_server`.

One request passes an entry model and two children with next to no work in them, at concurrency 1 over gRPC. Blocks of both styles
alternate, and the ratio is the median over rounds of ratios within one round. Both styles' stubs run in one server.
"""

import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import tritonclient.grpc
import typer
from rich.console import Console

from tests.bench.server_models import MODELS, config_of
from tests.triton.server import TritonServer
from vertical_engines.sdk.testing.conformance import write_repository

ROOT = Path(__file__).parents[2]
INPUTS = {
    "query": ("BYTES", np.array(["blue heron cafe"], object)),
    "region": ("BYTES", np.array(["harbor"], object)),
    "limit": ("INT32", np.array([8], np.int32)),
    "threshold": ("FP32", np.array([0.5], np.float32)),
}


def main(rounds: int = 40, requests: int = 50) -> None:
    """Print medians and the ratio."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_repository(folder / "models", models=MODELS, configs=config_of, roots=[ROOT])
        server = TritonServer(repository=folder / "models", folder=folder)
        server.start()
        try:
            _measure(f"127.0.0.1:{server.grpc}", rounds=rounds, requests=requests)
        finally:
            server.stop()


def _measure(address: str, *, rounds: int, requests: int) -> None:
    figures: dict[str, list[float]] = {"hand_entry": [], "sdk_entry": []}
    with tritonclient.grpc.InferenceServerClient(address) as client:
        tensors = []
        for name, (kind, array) in INPUTS.items():
            tensors.append(tritonclient.grpc.InferInput(name, list(array.shape), kind))
            tensors[-1].set_data_from_numpy(array)

        def block(model: str) -> float:
            took = []
            for _ in range(requests):
                start = time.perf_counter()
                client.infer(model, tensors)
                took.append(time.perf_counter() - start)
            return statistics.median(took)

        answers = [client.infer(model, tensors).get_response().raw_output_contents for model in figures]
        assert answers[0] == answers[1], "both styles answer alike"
        for model in figures:
            block(model)  # warm up
        for number in range(rounds):
            for model in sorted(figures, reverse=bool(number % 2)):
                figures[model].append(block(model))
    ratio = statistics.median(sdk / hand for sdk, hand in zip(figures["sdk_entry"], figures["hand_entry"], strict=True))
    hand, sdk = (statistics.median(figures[model]) * 1000 for model in ("hand_entry", "sdk_entry"))
    Console().print(f"hand-written {hand:.2f} ms, SDK {sdk:.2f} ms, ratio {ratio:.3f} ({rounds} rounds of {requests} requests)")


if __name__ == "__main__":
    typer.run(main)
