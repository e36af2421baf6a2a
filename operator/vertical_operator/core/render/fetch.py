"""The init container that fetches a model from a hub or an object store, with its Secret as files and its cache as a volume."""

from vertical_engines.contract.fetch import (
    CREDENTIALS_PATH,
    FETCH_VARIABLE,
    HUB_CACHE_PATH,
    MODEL_FILES,
    PROGRESS_PORT,
    SOURCE_RECORD,
    FetchRequest,
    ModelAccess,
)
from vertical_engines.contract.serving import MODEL_PATH
from vertical_operator.api.v1alpha1.engine import Engine
from vertical_operator.core.intents import Manifest
from vertical_operator.core.observed import FETCH
from vertical_operator.core.render.pod import SCRATCH_MOUNT, claim_volume, container, mount
from vertical_operator.core.settings import OperatorSettings

FILES_PATH = f"{MODEL_PATH}/{MODEL_FILES}"
RECORD_PATH = f"{MODEL_PATH}/{SOURCE_RECORD}"


def is_fetched(engine: Engine) -> bool:
    """Whether the model comes over a network, or from a hub's cache, by our own code."""
    source = engine.spec.identity.source
    return source.hugging_face is not None or source.object_store is not None


def model_access(engine: Engine, settings: OperatorSettings) -> ModelAccess:
    """The road as the container gets it: the object's own, else the installation's."""
    own, hub = engine.spec.access, engine.spec.identity.source.hugging_face is not None
    if own.cache:
        return ModelAccess(offline=True)
    return ModelAccess(
        endpoint=own.endpoint or (settings.hub_endpoint if hub else "") or None,
        region=own.region,
        proxy=own.proxy or settings.model_proxy or None,
        no_proxy=settings.model_no_proxy or None,
        secret=own.secret.name if own.secret else None,
    )


def fetch_container(engine: Engine, settings: OperatorSettings) -> Manifest:
    access = model_access(engine, settings)
    # The kubelet expands $(NAME) and $$ in values; doubled, every $ arrives as it was.
    request = FetchRequest(source=engine.spec.identity.source, access=access).to_json().replace("$", "$$")
    proxies = {"HTTPS_PROXY": access.proxy, "HTTP_PROXY": access.proxy, "NO_PROXY": access.no_proxy} if access.proxy else {}
    own = engine.spec.access
    cache = f"{HUB_CACHE_PATH}/{own.cache.path}".rstrip("/") if own.cache else HUB_CACHE_PATH
    return container(
        FETCH,
        engine.spec.identity.toolchain.image,
        command=["vertical-engines", "fetch", "--model", MODEL_PATH, *(["--hub-cache", cache] if own.cache else [])],
        mounts=[
            mount("model", MODEL_PATH),
            SCRATCH_MOUNT,
            *([mount("credentials", CREDENTIALS_PATH, read_only=True)] if own.secret else []),
            *([mount("hub-cache", HUB_CACHE_PATH, read_only=True)] if own.cache else []),
        ],
        env=[
            {"name": FETCH_VARIABLE, "value": request},
            {"name": "HOME", "value": "/tmp"},
            # Toolchain images switch the hub off for everything else that they run.
            {"name": "HF_HUB_OFFLINE", "value": "1" if access.offline else "0"},
            {"name": "HF_HUB_DISABLE_TELEMETRY", "value": "1"},
            *({"name": name, "value": value} for name, value in proxies.items() if value),
        ],
        ports=[{"name": "progress", "containerPort": PROGRESS_PORT}],
    )


def fetch_volumes(engine: Engine) -> list[Manifest]:
    """The Secret is optional to the kubelet: a missing one is then told by the container, in words, instead of a pod that never starts."""
    own = engine.spec.access
    volumes: list[Manifest] = []
    if own.secret:
        items = {"items": [{"key": own.secret.key, "path": "token"}]} if own.secret.key else {}
        secret = {"secretName": own.secret.name, "optional": True, "defaultMode": 0o440, **items}
        volumes.append({"name": "credentials", "secret": secret})
    if own.cache:
        volumes.append(claim_volume("hub-cache", own.cache.claim_name, read_only=True))
    return volumes
