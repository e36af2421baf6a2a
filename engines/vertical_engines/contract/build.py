"""The build request (operator to Job) and the outcome (Job's termination message to operator)."""

from pydantic import Field, ValidationError

from vertical_engines.contract.additions import joined
from vertical_engines.contract.engine import EngineIdentity
from vertical_engines.contract.frozen import Frozen
from vertical_engines.contract.manifest import ManifestSummary, StoreUsage
from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.toolchains import Matrix, Release, Toolchains, matrix

REQUEST_VARIABLE = "VERTICAL_BUILD_REQUEST"
"""Environment variable of the build container that holds the request as JSON. It never holds a secret."""

TERMINATION_MESSAGE_LIMIT = 4096
"""Bytes of a termination message that the kubelet keeps."""

EXIT_USER_ERROR = 65
"""Exit code (EX_DATAERR) of a failure that no retry can cure; the Job's podFailurePolicy fails at once on it."""

EXIT_RETRYABLE = 75
"""Exit code (EX_TEMPFAIL) of a failure that a later attempt may not meet, such as a full volume."""


class BuildRequest(Frozen):
    """One engine to build: the key is repeated so that image and operator can prove that they agree on it."""

    key: str
    identity: EngineIdentity
    toolchains: Toolchains | None = None
    """What the installation knows of the release, when it is one of its own."""

    @property
    def known(self) -> Matrix:
        """The image's matrix with what the request adds to it."""
        return Matrix(joined(matrix().file, self.toolchains)) if self.toolchains else matrix()

    @property
    def release(self) -> Release | None:
        """The matrix row of the release; None when neither the image nor the request knows it."""
        return self.known.release(backend=self.identity.toolchain.backend, name=self.identity.toolchain.release)


class BuildFailure(Frozen):
    """A translated failure: what happened, what to do, and the last lines of the log."""

    reason: Reason
    message: str
    log: list[str] = Field(default_factory=list)


class BuildOutcome(Frozen):
    """What a build container leaves in its termination message: exactly one of manifest and failure."""

    manifest: ManifestSummary | None = None
    failure: BuildFailure | None = None
    store: StoreUsage | None = None
    """Beside a manifest, where the store has a size."""

    def to_termination_message(self) -> str:
        """JSON within the kubelet's limit: log lines are dropped from the front, then the message is cut."""
        outcome = self
        while len(text := outcome.to_json()) and len(text.encode()) > TERMINATION_MESSAGE_LIMIT and outcome.failure:
            failure = outcome.failure
            shorter = {"log": failure.log[1:]} if failure.log else {"message": failure.message[: len(failure.message) // 2]}
            outcome = outcome.model_copy(update={"failure": failure.model_copy(update=shorter)})
        return text

    @classmethod
    def from_termination_message(cls, text: str) -> "BuildOutcome | None":
        """Read one back; None when the container left something else (killed, or not ours)."""
        try:
            outcome = cls.model_validate_json(text)
        except ValidationError:
            return None
        return outcome if outcome.manifest or outcome.failure else None
