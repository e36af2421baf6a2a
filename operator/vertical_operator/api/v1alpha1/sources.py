"""Where models and pipelines come from: the contract's shapes with the limits that the API server enforces."""

from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

from vertical_engines.contract import engine
from vertical_engines.contract.fetch import TOKEN_FILE
from vertical_engines.contract.frozen import Frozen
from vertical_operator.api.v1alpha1.rules import Rule, Ruled, exactly_one
from vertical_operator.api.v1alpha1.scalars import FolderInClaim, FolderInImage, ImageReference, ObjectName, Text

Revision = Annotated[str, Field(min_length=1, max_length=253)]


Address = Annotated[str, Field(max_length=1024, pattern=r"^https?://[^\s@]+$")]
"""Of a server or a proxy. No `@`: names and passwords belong into a Secret, which an address is not."""
Pattern = Annotated[str, Field(min_length=1, max_length=253)]


class SecretReference(Frozen):
    """A Secret in the same namespace."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    name: ObjectName
    key: Text | None = None
    """Key inside the Secret; left out: token."""


class CredentialsReference(Frozen):
    """A Secret in the same namespace."""

    name: ObjectName


class HubCache(Frozen):
    """A folder of a PersistentVolumeClaim with a hub's cache, as `hf download --cache-dir` fills it."""

    claim_name: ObjectName
    path: FolderInClaim = ""


class HuggingFaceSource(Frozen):
    """A repository of the Hugging Face hub, or of a mirror that speaks its protocol."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    repository: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?$")]
    """Owner and name, such as org/model."""
    revision: Revision
    """Commit, tag or branch; a commit is best, since it is part of the engine key. The Engine's status says which commit it stood for."""
    path: FolderInClaim | None = None
    """Folder of the repository that holds the model; left out: its root."""
    files: Annotated[list[Pattern] | None, Field(max_length=32)] = None
    """Patterns such as *q8_0.gguf; left out: configuration, tokenizer, and safetensors where there are any."""
    token_secret_ref: SecretReference | None = None
    """Secret that holds the access token."""
    endpoint: Address | None = None
    """Address of a mirror; left out: the installation's, else the public hub."""
    proxy: Address | None = None
    """HTTP proxy; left out: the installation's."""
    cache: HubCache | None = None
    """Read the model from this cache and use no network at all."""


class ImageSource(Frozen):
    """A folder in a container image. Nothing in the image is run, so a data-only image is enough."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    reference: ImageReference
    """Image reference; with a digest the same reference can never mean other bytes."""
    path: FolderInImage
    """Absolute folder inside the image."""


class ClaimSource(Frozen):
    """A folder in a PersistentVolumeClaim of the same namespace, read only."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    claim_name: ObjectName
    path: FolderInClaim = ""
    """Folder inside the volume; empty is the whole volume."""


class ObjectStoreSource(Frozen):
    """A prefix or an object in an S3-compatible object store."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    uri: Annotated[str, Field(max_length=1024, pattern=r"^s3://[a-z0-9][a-z0-9.-]*(/[^\s]*)?$")]
    """Such as s3://bucket/prefix. A file SHA256SUMS beside the model is honoured."""
    endpoint: Address | None = None
    """Address of an S3-compatible store; left out: Amazon's of the region."""
    region: Text | None = None
    """Left out: us-east-1."""
    proxy: Address | None = None
    """HTTP proxy; left out: the installation's."""
    secret_ref: CredentialsReference | None = None
    """Secret with the keys accessKeyId, secretAccessKey and, for passing credentials, sessionToken; left out: requests are not signed."""


ONE_MODEL_SOURCE = Rule(
    cel="[has(self.huggingFace), has(self.image), has(self.persistentVolumeClaim), has(self.objectStore)].filter(given, given).size() == 1",
    message="set exactly one model source: huggingFace, image, persistentVolumeClaim or objectStore",
    holds=exactly_one,
)


class ModelSource(Ruled):
    """Exactly one of the four."""

    rules: ClassVar[tuple[Rule, ...]] = (ONE_MODEL_SOURCE,)

    hugging_face: HuggingFaceSource | None = None
    image: ImageSource | None = None
    persistent_volume_claim: ClaimSource | None = None
    object_store: ObjectStoreSource | None = None

    def as_contract(self) -> engine.ModelSource:
        """The same value as the images know it: what the bytes depend on, without the road to them."""
        return engine.ModelSource.model_validate(self.model_dump(exclude={"hugging_face": ROADS, "object_store": ROADS}))

    def access(self) -> "ModelAccess":
        """The road to the bytes."""
        hub, store = self.hugging_face, self.object_store
        if hub:
            secret = (
                SourceSecret(name=hub.token_secret_ref.name, key=hub.token_secret_ref.key or TOKEN_FILE) if hub.token_secret_ref else None
            )
            return ModelAccess(endpoint=hub.endpoint, proxy=hub.proxy, secret=secret, cache=hub.cache)
        if store:
            secret = SourceSecret(name=store.secret_ref.name) if store.secret_ref else None
            return ModelAccess(endpoint=store.endpoint, region=store.region, proxy=store.proxy, secret=secret)
        return ModelAccess()


ROADS = {"token_secret_ref", "secret_ref", "endpoint", "region", "proxy", "cache"}


class SourceSecret(Frozen):
    """`key` is set where one entry of the Secret is wanted."""

    name: ObjectName
    key: Text | None = None


class ModelAccess(Frozen):
    """How a build gets at its model: changes nothing of the engine, so it may change."""

    endpoint: Address | None = None
    region: Text | None = None
    proxy: Address | None = None
    secret: SourceSecret | None = None
    cache: HubCache | None = None
