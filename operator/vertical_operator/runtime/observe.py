"""Reads what a plan wants to know: lists by label first, then by name only what the lists did not hold."""

import asyncio

from vertical_operator.core.intents import Listing, Lookups, Ref
from vertical_operator.kube.port import Cluster, Manifest


async def observe(lookups: Lookups, *, cluster: Cluster) -> list[Manifest]:
    """Every object that the lookups name and that exists, each once. Raises the cluster's failures."""

    async def listed(listing: Listing) -> list[Manifest]:
        return await cluster.list_owned(listing.kind.name, namespace=listing.namespace, selector=listing.selector)

    async def got(ref: Ref) -> Manifest | None:
        return await cluster.get(ref.kind.name, namespace=ref.namespace, name=ref.name)

    objects = {_identity(body): body for page in await asyncio.gather(*map(listed, lookups.lists)) for body in page}
    missing = [ref for ref in dict.fromkeys(lookups.gets) if (ref.kind.name, ref.namespace, ref.name) not in objects]
    for body in await asyncio.gather(*map(got, missing)):
        if body is not None:
            objects[_identity(body)] = body
    return list(objects.values())


def _identity(body: Manifest) -> tuple[str, str | None, str]:
    metadata = body["metadata"]
    return body["kind"], metadata.get("namespace"), metadata["name"]
