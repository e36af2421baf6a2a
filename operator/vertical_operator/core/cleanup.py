"""What is no longer wanted: removed placements and variants, old ConfigMaps, engines that nothing serves any more."""

from collections.abc import Mapping
from dataclasses import dataclass

from vertical_operator.api.v1alpha1.group import CONFIG_MAP, DEPLOYMENT, ENGINE, SERVICE, Kind
from vertical_operator.api.v1alpha1.vertical_service import VerticalService
from vertical_operator.core.intents import Apply, Delete, Ref
from vertical_operator.core.observed import ChildState, ObservedService
from vertical_operator.core.render.engine import owns, owns_alone, released_engine


@dataclass(frozen=True)
class Wanted:
    """Names of the children that are to stay."""

    deployments: frozenset[str]
    services: frozenset[str]
    config_maps: frozenset[str]
    engines: frozenset[str]


@dataclass(frozen=True)
class Cleanup:
    applies: tuple[Apply, ...]
    deletes: tuple[Delete, ...]
    kept: bool
    """Something unwanted has to stay until the last pod that uses it is gone."""


def cleanup(service: VerticalService, observed: ObservedService, *, wanted: Wanted) -> Cleanup:
    """Deletes of what is ours and unwanted; what a pod may still read stays until that pod is gone."""
    deletes = [
        *_unwanted(service, DEPLOYMENT, live=observed.deployments, keep=wanted.deployments),
        *_unwanted(service, SERVICE, live=observed.services, keep=wanted.services),
    ]
    read = {name for workload in observed.deployments.values() for name in workload.config_maps}
    read |= {name for pod in observed.pods if not pod.over for name in pod.config_maps}
    maps = _unwanted(service, CONFIG_MAP, live=observed.config_maps, keep=wanted.config_maps)
    deletes += [delete for delete in maps if delete.ref.name not in read]
    applies, kept = [], any(delete.ref.name in read for delete in maps)
    for name, engine in sorted(observed.engines.items()):
        if name in wanted.engines or engine.metadata.deletion_timestamp or not owns(service, engine):
            continue
        if _served(service, name, key=engine.spec.key, observed=observed):
            kept = True
        elif owns_alone(service, engine):
            ref = Ref(ENGINE, service.metadata.namespace, name)
            # The version is part of the precondition: another service may have become an owner in the meantime.
            deletes.append(Delete(ref, engine.metadata.uid, engine.metadata.resource_version))
        else:
            applies.append(released_engine(service, engine))
    return Cleanup(applies=tuple(applies), deletes=tuple(deletes), kept=kept)


def _unwanted(service: VerticalService, kind: Kind, *, live: Mapping[str, ChildState], keep: frozenset[str]) -> list[Delete]:
    return [
        Delete(Ref(kind, service.metadata.namespace, name), child.uid)
        for name, child in sorted(live.items())
        if name not in keep and child.controller == service.metadata.uid and not child.deleting
    ]


def _served(service: VerticalService, engine: str, *, key: str, observed: ObservedService) -> bool:
    """A Deployment of ours has it, or a pod that is not over still reads it."""
    by_deployment = any(d.engine_key == key and d.controller == service.metadata.uid for d in observed.deployments.values())
    return by_deployment or any(pod.engine == engine and not pod.over for pod in observed.pods)
