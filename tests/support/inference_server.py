"""A small inference server in this process that speaks KServe v2 over HTTP and gRPC, for tests of clients."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
import numpy
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import serialize_byte_tensor

from vertical_engines.sdk.errors import ErrorCode

HTTP_STATUS = {ErrorCode.INVALID_ARG: 400, ErrorCode.NOT_FOUND: 404, ErrorCode.UNAVAILABLE: 503, ErrorCode.INTERNAL: 500}
GRPC_STATUS = {
    ErrorCode.INVALID_ARG: grpc.StatusCode.INVALID_ARGUMENT,
    ErrorCode.NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    ErrorCode.UNAVAILABLE: grpc.StatusCode.UNAVAILABLE,
    ErrorCode.INTERNAL: grpc.StatusCode.INTERNAL,
}


@dataclass
class Script:
    """What the server does next, and what it saw: names, types, shapes and ids of requests."""

    outputs: dict[str, tuple[str, list[str] | list[int]]] = field(default_factory=dict)
    """Name to wire type and values, one dimension."""
    failure: tuple[ErrorCode, str] | None = None
    page: tuple[int, bytes] | None = None
    """A raw HTTP answer, such as a proxy gives."""
    silent: threading.Event | None = None
    """No answer before it is set."""
    ready: bool = True
    seen: list[dict[str, Any]] = field(default_factory=list)


@contextmanager
def inference_server(script: Script, protocol: str) -> Iterator[str]:
    """The URL of a running server that follows the script."""
    with _http_server(script) if protocol == "http" else _grpc_server(script) as url:
        yield url


@contextmanager
def _http_server(script: Script) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(200 if script.ready else 400, b"")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            request = json.loads(body[: int(self.headers.get("Inference-Header-Content-Length", len(body)))])
            inputs = {one["name"]: (one["datatype"], one["shape"]) for one in request["inputs"]}
            script.seen.append({"path": self.path, "id": request["id"], "inputs": inputs})
            if script.silent:
                script.silent.wait()
            if script.page:
                self._answer(*script.page)
            elif script.failure:
                self._answer(HTTP_STATUS[script.failure[0]], json.dumps({"error": script.failure[1]}).encode())
            else:
                outputs = [
                    {"name": name, "datatype": kind, "shape": [len(data)], "data": data} for name, (kind, data) in script.outputs.items()
                ]
                self._answer(200, json.dumps({"model_name": "m", "model_version": "1", "outputs": outputs}).encode())

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            # A client that gave up waiting is what some tests are about.
            with suppress(BrokenPipeError, ConnectionResetError):
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def _grpc_server(script: Script) -> Iterator[str]:
    class Servicer(service_pb2_grpc.GRPCInferenceServiceServicer):  # type: ignore[misc]
        def ServerReady(self, request: Any, context: Any) -> Any:
            return service_pb2.ServerReadyResponse(ready=script.ready)

        def ModelReady(self, request: Any, context: Any) -> Any:
            return service_pb2.ModelReadyResponse(ready=script.ready)

        def ModelInfer(self, request: Any, context: Any) -> Any:
            inputs = {one.name: (one.datatype, list(one.shape)) for one in request.inputs}
            script.seen.append({"path": f"/v2/models/{request.model_name}/infer", "id": request.id, "inputs": inputs})
            if script.silent:
                script.silent.wait()
            if script.failure:
                context.abort(GRPC_STATUS[script.failure[0]], script.failure[1])
            response = service_pb2.ModelInferResponse(model_name="m", model_version="1")
            for name, (kind, data) in script.outputs.items():
                response.outputs.add(name=name, datatype=kind, shape=[len(data)])
                array = numpy.array([str(one).encode() for one in data], object) if kind == "BYTES" else numpy.array(data, numpy.int32)
                raw = serialize_byte_tensor(array).item() if kind == "BYTES" else array.tobytes()
                response.raw_output_contents.append(raw)
            return response

    server = grpc.server(ThreadPoolExecutor(4))
    service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(Servicer(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"grpc://127.0.0.1:{port}"
    finally:
        if script.silent:
            script.silent.set()
        server.stop(0).wait()
