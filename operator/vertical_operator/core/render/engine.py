"""The Engine object, as one of its owners applies it."""

from vertical_engines.contract.frozen import Frozen
from vertical_operator.api.v1alpha1.engine import Engine
from vertical_operator.api.v1alpha1.group import API_VERSION, ENGINE, VERTICAL_SERVICE, engine_manager
from vertical_operator.api.v1alpha1.vertical_service import VerticalService
from vertical_operator.core.identity import Target, store_access
from vertical_operator.core.intents import Apply, Manifest
from vertical_operator.core.names import labels, owner_reference


def owns(service: VerticalService, engine: Engine) -> bool:
    return any(owner.uid == service.metadata.uid for owner in engine.metadata.owner_references)


def owns_alone(service: VerticalService, engine: Engine) -> bool:
    return owns(service, engine) and len(engine.metadata.owner_references) == 1


def _decides(service: VerticalService, live: Engine | None) -> bool:
    """The first owner decides scheduling and access, so that two owners don't fight over them."""
    if live is None or not live.metadata.owner_references:
        return True
    return live.metadata.owner_references[0].uid == service.metadata.uid


def _scheduling(target: Target) -> Manifest:
    placement = target.placement
    given = {
        "nodeSelector": dict(placement.node_selector),
        "tolerations": [t.model_dump(mode="json", by_alias=True, exclude_none=True) for t in placement.tolerations],
        "resources": placement.resources.model_dump(mode="json", by_alias=True) if placement.resources else {},
        "queueName": placement.queue_name,
        "imagePullSecrets": [{"name": secret.name} for secret in target.service.spec.image_pull_secrets],
    }
    return {key: value for key, value in given.items() if value}


def engine(target: Target, live: Engine | None) -> Apply:
    """The wanted Engine; beside another first owner the live scheduling and access are applied back as they are."""
    scheduling, access, store = _scheduling(target), _plain(target.service.spec.model.source.access()), _plain(store_access(target.service))
    if live is not None and not _decides(target.service, live):
        scheduling, access, store = _plain(live.spec.scheduling), _plain(live.spec.access), _plain(live.spec.store_access)
    changing = {"scheduling": scheduling, **({"access": access} if access else {}), **({"storeAccess": store} if store else {})}
    fixed = {
        "key": target.key,
        "identity": target.identity.model_dump(mode="json", by_alias=True, exclude_none=True),
        "modelName": target.service.spec.model.name,
        "store": _plain(target.store),
    }
    owner = owner_reference(VERTICAL_SERVICE.name, target.service.metadata, controller=False)
    return _apply(target.service, name=target.engine, owners=[owner], spec={**(_fixed(live) if live else fixed), **changing})


def released_engine(service: VerticalService, live: Engine) -> Apply:
    """Letting go: the same object without our owner reference. The immutable part is sent on, in case nobody else holds it.

    Only of the version that was looked at: two last owners that let go at the same time would leave an engine that nobody deletes.
    """
    metadata = live.metadata
    return _apply(
        service, name=metadata.name, owners=[], spec=_fixed(live), only={"uid": metadata.uid, "resourceVersion": metadata.resource_version}
    )


def _plain(value: Frozen) -> Manifest:
    content: Manifest = value.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
    return content


def _fixed(live: Engine) -> Manifest:
    """The immutable part as it is: what the key leaves out (a Secret's name, say) may differ between two owners."""
    return live.spec.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"scheduling", "access", "store_access"})


def _apply(service: VerticalService, *, name: str, owners: list[Manifest], spec: Manifest, only: Manifest | None = None) -> Apply:
    metadata: Manifest = {"name": name, "namespace": service.metadata.namespace, "labels": labels()}
    # With a UID the apply is a change of that very object: it can't bring back one that is gone.
    metadata |= only or {}
    metadata |= {"ownerReferences": owners} if owners else {}
    manifest = {"apiVersion": API_VERSION, "kind": ENGINE.name, "metadata": metadata, "spec": spec}
    return Apply(manifest=manifest, manager=engine_manager(service.metadata.name))
