"""Carries out a plan: applies in order, then deletes. The first failure ends it; the rest is the next reconcile's work."""

from collections.abc import Iterable

from vertical_operator.core.intents import Plan
from vertical_operator.kube.drift import needs_apply
from vertical_operator.kube.failures import ClusterFailure, Conflict
from vertical_operator.kube.port import Cluster, Manifest


class ChildFailure(Exception):
    """One child could not be written: which one, and the server's failure."""

    def __init__(self, what: str, failure: ClusterFailure) -> None:
        super().__init__(f"{what}: {failure.message}")
        self.what, self.failure = what, failure


async def execute(plan: Plan, *, live: Iterable[Manifest], cluster: Cluster) -> int:
    """Write what differs from the live objects that were read just before; returns the number of writes. Raises ChildFailure."""
    known = {_identity(body): body for body in live}
    writes = 0
    for apply in plan.applies:
        if not needs_apply(apply.manifest, known.get(_identity(apply.manifest)), field_manager=apply.manager):
            continue
        try:
            await cluster.apply(apply.manifest, field_manager=apply.manager, force=True)
        except ClusterFailure as failure:
            raise ChildFailure(f"{apply.manifest['kind']} {apply.manifest['metadata']['name']}", failure) from failure
        writes += 1
    for delete in plan.deletes:
        ref = delete.ref
        try:
            await cluster.delete(
                ref.kind.name, namespace=ref.namespace, name=ref.name, uid=delete.uid, resource_version=delete.resource_version
            )
        except Conflict:
            # It changed since we looked: what was to be deleted may be something else by now. The next look decides.
            continue
        except ClusterFailure as failure:
            raise ChildFailure(str(ref), failure) from failure
        writes += 1
    return writes


def _identity(body: Manifest) -> tuple[str, str | None, str]:
    metadata = body["metadata"]
    return body["kind"], metadata.get("namespace"), metadata["name"]
