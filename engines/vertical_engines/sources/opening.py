"""From a fetch request and mounted credentials to the source that it means."""

from pathlib import Path

from vertical_engines.contract.fetch import FetchRequest
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.sources.credentials import hub_token, store_keys
from vertical_engines.sources.protocol import RemoteSource


def open_source(request: FetchRequest, *, credentials: Path, hub_cache: Path) -> RemoteSource:
    """Raises ModelSourceUnavailable for a Secret that is not there yet, InvalidSpec for a source that is not fetched this way."""
    source, access = request.source, request.access
    # Each library is loaded only where it is used: a toolchain image may lack the other.
    if source.hugging_face and access.offline:
        from vertical_engines.sources.hub_cache import HubCacheSource

        return HubCacheSource(source.hugging_face, cache=hub_cache)
    if source.hugging_face:
        from vertical_engines.sources.hub import HubSource

        token = hub_token(credentials, secret=access.secret) if access.secret else None
        return HubSource(source.hugging_face, endpoint=access.endpoint, token=token)
    if source.object_store:
        from vertical_engines.sources.object_store import ObjectStoreSource

        return ObjectStoreSource(
            source.object_store.uri,
            endpoint=access.endpoint,
            region=access.region,
            credentials=store_keys(credentials, secret=access.secret) if access.secret else None,
            proxy=access.proxy,
            no_proxy=access.no_proxy or "",
        )
    raise Failure(Reason.INVALID_SPEC, "this source is copied or mounted, not fetched")
