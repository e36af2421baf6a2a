"""gRPC transports through tritonclient: safe for threads, a deadline for each call, no limit on bodies."""

from typing import Any

from vertical_engines.client.address import Address
from vertical_engines.client.errors import from_server
from vertical_engines.client.transport import Named, inputs_of
from vertical_engines.sdk.dtypes import Array


class GrpcTransport:
    """One channel, for any number of threads."""

    def __init__(self, address: Address, *, timeout: float) -> None:
        import tritonclient.grpc

        self._module: Any = tritonclient.grpc
        self._errors: Any = tritonclient.grpc.InferenceServerException
        self._timeout = timeout
        self._client = tritonclient.grpc.InferenceServerClient(url=address.netloc, ssl=address.tls)

    def infer(self, model: str, tensors: Named, *, timeout: float, request_id: str) -> list[tuple[str, Array]]:
        inputs = inputs_of(self._module, tensors)
        try:
            result = self._client.infer(model, inputs, request_id=request_id, client_timeout=timeout)
        except self._errors as error:
            raise from_server(error) from error
        return outputs_of(result)

    def ready(self, model: str) -> bool:
        try:
            return bool(
                self._client.is_server_ready(client_timeout=self._timeout)
                and self._client.is_model_ready(model, client_timeout=self._timeout)
            )
        except self._errors as error:
            raise from_server(error) from error

    def close(self) -> None:
        self._client.close()


class AsyncGrpcTransport:
    """One channel of one event loop."""

    def __init__(self, address: Address, *, timeout: float) -> None:
        import tritonclient.grpc.aio

        self._module: Any = tritonclient.grpc.aio
        self._errors: Any = tritonclient.grpc.aio.InferenceServerException
        self._timeout = timeout
        self._client = tritonclient.grpc.aio.InferenceServerClient(url=address.netloc, ssl=address.tls)

    async def infer(self, model: str, tensors: Named, *, timeout: float, request_id: str) -> list[tuple[str, Array]]:
        inputs = inputs_of(self._module, tensors)
        try:
            result = await self._client.infer(model, inputs, request_id=request_id, client_timeout=timeout)
        except self._errors as error:
            raise from_server(error) from error
        return outputs_of(result)

    async def ready(self, model: str) -> bool:
        try:
            server = await self._client.is_server_ready(client_timeout=self._timeout)
            return bool(server and await self._client.is_model_ready(model, client_timeout=self._timeout))
        except self._errors as error:
            raise from_server(error) from error

    async def close(self) -> None:
        await self._client.close()


def outputs_of(result: Any) -> list[tuple[str, Array]]:
    """Named arrays of a gRPC result."""
    return [(output.name, result.as_numpy(output.name)) for output in result.get_response().outputs]
