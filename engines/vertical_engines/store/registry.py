"""The engine store in a repository of an OCI registry: the tag of an engine is its key, what is served is pinned by digest."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from vertical_engines.contract.manifest import MANIFEST_NAME, Manifest, StoreUsage
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.progress import Say, megabytes
from vertical_engines.store.durable import write_durably
from vertical_engines.store.failures import EngineCorrupt, EngineMissing, free_bytes, storage_errors, store_full
from vertical_engines.store.oci import CONFIG_TYPE, artifact, check_layers, descriptor
from vertical_engines.store.reading import file_digest
from vertical_engines.store.registry_client import Repository
from vertical_engines.store.volume import KEY


class RegistryStore:
    """`scratch` is a folder of the pod's own in which engines are built before they are pushed.

    A registry knows no locks: two builders of one key both push, and the tag ends with one of them. Each Engine goes on with the
    digest that its own build reported, so neither ever serves what it has not seen.
    """

    def __init__(self, repository: Repository, *, scratch: Path, say: Say) -> None:
        self._repository, self._scratch, self._say = repository, scratch, say
        self._needed = 0

    @contextmanager
    def hold(self, key: str) -> Iterator[None]:
        if not KEY.fullmatch(key):
            raise Failure(Reason.INVALID_SPEC, f"not an engine key: {key!r}; a key is 64 lower-case hex digits")
        yield

    def open(self, key: str, *, digests: bool = False) -> Manifest:
        """With `digests` the registry is asked for every layer; their bytes are verified when they are pulled."""
        found = self._repository.manifest(key)
        if found is None:
            raise EngineMissing(f"engine {key} is not in {self._repository.name}; its Engine object shows whether a build is under way")
        manifest = self._manifest(found[1], where=f"{self._repository.name}:{key}")
        if (manifest.key, manifest.identity.key()) != (key, key):
            raise EngineCorrupt(f"{self._repository.name}:{key} holds engine {manifest.key}")
        for layer in found[1]["layers"] if digests else []:
            if not self._repository.has_blob(layer):
                raise EngineCorrupt(f"{self._repository.name}:{key} lacks the blob {layer['digest']}")
        return manifest

    def engines(self) -> Iterator[Manifest]:
        for tag in self._repository.tags():
            if KEY.fullmatch(tag):
                with suppress(EngineMissing, EngineCorrupt):
                    yield self.open(tag)

    def usage(self) -> StoreUsage | None:
        return None

    @contextmanager
    def stage(self, key: str, *, needed: int) -> Iterator[Path]:
        self._needed = needed
        with self.writing():
            if (free := free_bytes(self._scratch)) < needed:
                raise store_full(root=self._scratch, needed=needed, free=free)
            staged = Path(tempfile.mkdtemp(prefix=f"{key}-", dir=self._scratch))
        try:
            yield staged
        finally:
            shutil.rmtree(staged, ignore_errors=True)

    def publish(self, staged: Path, manifest: Manifest) -> None:
        with self.writing():
            config = staged / MANIFEST_NAME
            config.write_text(manifest.to_json(), encoding="utf-8")
            described = descriptor(CONFIG_TYPE, sha256=file_digest(config), size=config.stat().st_size)
            document = artifact(manifest, config=described)
            for file, layer in zip(manifest.files, document["layers"], strict=True):
                self._say(f"pushing {file.path} ({megabytes(file.size)})")
                self._repository.push_blob(staged / file.path, layer)
            self._repository.push_blob(config, described)
            self._repository.push_manifest(document, tag=manifest.key)

    def remove(self, key: str) -> bool:
        found = self._repository.manifest(key)
        if found is None:
            return False
        if not self._repository.delete(found[0]):
            self._say(f"{self._repository.name} does not allow deletion: the tag {key} stays until its owner removes it")
        return True

    def artifact(self, key: str) -> str | None:
        found = self._repository.manifest(key)
        return f"{self._repository.name}@{found[0]}" if found else None

    def pull(self, reference: str, *, key: str, into: Path) -> Manifest:
        """Fill `<into>/<key>/` with the artefact of a digest (or, where none is known, of a tag), its manifest last."""
        found = self._repository.manifest(reference)
        if found is None:
            raise EngineMissing(f"{self._repository.name} has no {reference}: delete the Engine object to have it built again")
        if reference.startswith("sha256:") and found[0] != reference:
            raise EngineCorrupt(f"{self._repository.name} answers {reference} with {found[0]}")
        manifest = self._manifest(found[1], where=f"{self._repository.name}@{found[0]}")
        if manifest.key != key:
            raise EngineCorrupt(f"{self._repository.name}@{found[0]} holds engine {manifest.key} instead of {key}")
        folder = into / key
        size = sum(file.size for file in manifest.files)
        with storage_errors(into, needed=size):
            shutil.rmtree(folder, ignore_errors=True)
            for file in manifest.files:
                self._say(f"pulling {file.path} ({megabytes(file.size)})")
                (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
                self._repository.pull_blob(f"sha256:{file.sha256}", into=folder / file.path)
            write_durably(folder / MANIFEST_NAME, manifest.to_json())
        return manifest

    def writing(self) -> AbstractContextManager[None]:
        return storage_errors(self._scratch, needed=self._needed)

    def _manifest(self, document: dict[str, Any], *, where: str) -> Manifest:
        config = document.get("config")
        if not isinstance(config, dict) or config.get("mediaType") != CONFIG_TYPE:
            raise EngineCorrupt(f"{where} is no engine: its config is of another kind")
        try:
            manifest = Manifest.model_validate_json(self._repository.read_blob(str(config["digest"])))
        except ValidationError as error:
            raise EngineCorrupt(f"{where}: its manifest can't be read: {error.errors()[0]['msg']}") from None
        check_layers(document, manifest.files, where=where)
        return manifest
