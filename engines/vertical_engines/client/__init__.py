"""Typed client: ask a vertical with its request class, get its response class. HTTP and gRPC, sync and asyncio."""

from vertical_engines.client.address import Address, service_url
from vertical_engines.client.errors import RequestTimeout, ServerUnreachable, VerticalError
from vertical_engines.client.vertical import AsyncVerticalClient, VerticalClient

__all__ = ["Address", "AsyncVerticalClient", "RequestTimeout", "ServerUnreachable", "VerticalClient", "VerticalError", "service_url"]
