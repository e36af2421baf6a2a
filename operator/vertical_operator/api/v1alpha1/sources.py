"""Where models and pipelines come from: the contract's shapes with the limits that the API server enforces."""

from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

from vertical_engines.contract import engine
from vertical_engines.contract.frozen import Frozen
from vertical_operator.api.v1alpha1.rules import Rule, Ruled, exactly_one
from vertical_operator.api.v1alpha1.scalars import FolderInClaim, FolderInImage, ImageReference, LongText, ObjectName, Text

Revision = Annotated[str, Field(min_length=1, max_length=253)]


class SecretReference(Frozen):
    """A Secret in the same namespace."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    name: ObjectName
    key: Text | None = None
    """Key inside the Secret."""


class HuggingFaceSource(Frozen):
    """A repository of the Hugging Face hub, or of a mirror that speaks its protocol."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    repository: Revision
    """Owner and name, such as org/model."""
    revision: Revision
    """Commit, tag or branch; a commit is best, since it is part of the engine key."""
    token_secret_ref: SecretReference | None = None
    """Secret that holds the access token."""


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
    """A prefix in an object store."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    uri: Annotated[str, Field(max_length=1024, pattern=r"^[a-z][a-z0-9+.-]*://.+$")]
    """Such as s3://bucket/prefix."""
    endpoint: LongText | None = None
    """Address of the store, when it is not the default of its scheme."""
    secret_ref: SecretReference | None = None
    """Secret with the credentials."""


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
        """The same value as the images know it."""
        return engine.ModelSource.model_validate(self.model_dump())
