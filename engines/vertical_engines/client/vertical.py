"""The clients: request object in, response object out."""

import uuid
from types import TracebackType
from typing import Generic, TypeVar

from vertical_engines.client.address import Address
from vertical_engines.client.errors import VerticalError
from vertical_engines.client.over_grpc import AsyncGrpcTransport, GrpcTransport
from vertical_engines.client.over_http import AsyncHttpTransport, HttpTransport
from vertical_engines.client.transport import AsyncTransport, Named, Transport
from vertical_engines.sdk.codec import InvalidMessage, codec_of
from vertical_engines.sdk.errors import CodecError, ErrorCode
from vertical_engines.sdk.fields import TritonFieldModel

RequestT = TypeVar("RequestT", bound=TritonFieldModel)
ResponseT = TypeVar("ResponseT", bound=TritonFieldModel)

DEFAULT_TIMEOUT = 30.0


class _Typed(Generic[RequestT, ResponseT]):
    """The part that both clients share: schemas on one side, named arrays on the other."""

    def __init__(self, *, request: type[RequestT], response: type[ResponseT], model: str, timeout: float) -> None:
        self.model = model
        self.timeout = timeout
        self._request = codec_of(request)
        self._response = codec_of(response)

    def _encode(self, request: RequestT) -> Named:
        try:
            return self._request.encode(request)
        except CodecError as error:
            raise VerticalError(str(error), code=ErrorCode.INVALID_ARG) from error

    def _decode(self, tensors: Named) -> ResponseT:
        try:
            return self._response.decode(tensors)
        except InvalidMessage as error:
            raise VerticalError(f"{self.model} answered with {error}") from error


class VerticalClient(_Typed[RequestT, ResponseT]):
    """`with VerticalClient(url, request=..., response=..., model=...) as client: client.infer(request)`.

    `url`: http://host:8000, https://..., grpc://host:8001 or grpcs://.... `timeout` in seconds, for each call; over
    gRPC and asyncio a call may bring its own. A failed call raises VerticalError with the server's message and code,
    RequestTimeout or ServerUnreachable. Nothing is sent twice.
    """

    def __init__(
        self, url: str, *, request: type[RequestT], response: type[ResponseT], model: str, timeout: float = DEFAULT_TIMEOUT
    ) -> None:
        super().__init__(request=request, response=response, model=model, timeout=timeout)
        address = Address.parse(url)
        kind = HttpTransport if address.protocol == "http" else GrpcTransport
        self._transport: Transport = kind(address, timeout=timeout)

    def infer(self, request: RequestT, *, timeout: float | None = None, request_id: str = "") -> ResponseT:
        """The answer to one request. The id, made up where none is given, stands in the server's log."""
        tensors = self._encode(request)
        named = self._transport.infer(self.model, tensors, timeout=timeout or self.timeout, request_id=request_id or uuid.uuid4().hex)
        return self._decode(named)

    def ready(self) -> bool:
        """Whether server and model take requests. Raises ServerUnreachable where no server answers."""
        return self._transport.ready(self.model)

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> "VerticalClient[RequestT, ResponseT]":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class AsyncVerticalClient(_Typed[RequestT, ResponseT]):
    """VerticalClient for asyncio: any number of calls at once. Made, used and closed inside one event loop."""

    def __init__(
        self, url: str, *, request: type[RequestT], response: type[ResponseT], model: str, timeout: float = DEFAULT_TIMEOUT
    ) -> None:
        super().__init__(request=request, response=response, model=model, timeout=timeout)
        address = Address.parse(url)
        kind = AsyncHttpTransport if address.protocol == "http" else AsyncGrpcTransport
        self._transport: AsyncTransport = kind(address, timeout=timeout)

    async def infer(self, request: RequestT, *, timeout: float | None = None, request_id: str = "") -> ResponseT:
        """The answer to one request."""
        tensors = self._encode(request)
        named = await self._transport.infer(self.model, tensors, timeout=timeout or self.timeout, request_id=request_id or uuid.uuid4().hex)
        return self._decode(named)

    async def ready(self) -> bool:
        """Whether server and model take requests. Raises ServerUnreachable where no server answers."""
        return await self._transport.ready(self.model)

    async def close(self) -> None:
        await self._transport.close()

    async def __aenter__(self) -> "AsyncVerticalClient[RequestT, ResponseT]":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()
