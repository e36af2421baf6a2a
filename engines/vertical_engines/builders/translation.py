"""What a builder's process left behind, translated: a table from exit codes, signals and log lines to a reason and what to do."""

import re
import signal
from dataclasses import dataclass
from typing import Final

from vertical_engines.builders.child import Ended
from vertical_engines.contract.known_failures import explain
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.progress import megabytes


@dataclass(frozen=True)
class Row:
    """Matches when the process ended by `signal`, or when `words` are found in its last lines."""

    reason: Reason
    message: str
    """`{doing}`, `{source}`, `{memory}`, `{limit}` and `{room}` are filled in."""
    words: str = ""
    signal: int = 0

    def matches(self, ended: Ended) -> bool:
        if self.signal:
            return ended.code == -self.signal
        return ended.code != 0 and re.search(self.words, "\n".join(ended.tail)) is not None


OUT_OF_MEMORY: Final = (
    "{doing} ran out of memory (it had {memory}; the container's limit is {limit}): raise resources.limits.memory of the placement"
)

ROWS: Final = (
    Row(Reason.BUILD_OUT_OF_MEMORY, OUT_OF_MEMORY, signal=signal.SIGKILL),
    Row(Reason.BUILD_OUT_OF_MEMORY, OUT_OF_MEMORY, words=r"MemoryError|std::bad_alloc|[Cc]annot allocate memory"),
    Row(
        Reason.STORE_FULL,
        "the engine store has no room: it filled up during {doing} ({room}); enlarge the claim or delete services that no longer serve",
        words=r"No space left on device|Disk quota exceeded|iostream error",
    ),
    Row(
        Reason.STORE_UNAVAILABLE,
        "the engine store can't be written: {doing} could not create its files; "
        "the claim must be mounted read-write and writable for group 1000 (fsGroup)",
        words=r"Read-only file system|Permission denied|Can't open (bin|xml) file",
    ),
    Row(
        Reason.MODEL_INVALID,
        "{source} can't be read by this release of openvino-genai: its quantisation or one of its keys is unknown to it; "
        "use a plain conversion of the model, best in F16, Q8_0, Q4_0 or Q4_1",
        words=r"unordered_map::at|Unsupported model architecture|[Uu]nsupported (tensor|quantization|GGUF)",
    ),
    Row(Reason.MODEL_INVALID, "{source} can't be opened as a GGUF model", words=r"gguf_open"),
    Row(
        Reason.BUILD_FAILED,
        "{doing} used an instruction that this node's CPU lacks (SIGILL): OpenVINO needs x86-64 with SSE4.2; choose other nodes",
        signal=signal.SIGILL,
    ),
    Row(
        Reason.BUILD_FAILED,
        "{doing} crashed in native code (SIGSEGV) on {source}: a damaged model does that; check the file's checksum at its origin",
        signal=signal.SIGSEGV,
    ),
)
"""Words of the OpenVINO rows as openvino-genai 2026.4.1 says them on damaged, unknown and unwritable files. The first match wins."""


@dataclass(frozen=True)
class Circumstances:
    """What the messages name besides the end itself. Sizes in bytes."""

    doing: str
    source: str
    needed: int = 0
    """Room that the engine takes, estimated."""
    free: int = 0
    """Room that was left in the store afterwards."""
    limit: int | None = None
    """Memory limit of the container; None for none."""
    otherwise: Reason = Reason.BUILD_FAILED
    """The reason when no row knows the end."""


def translate(ended: Ended, about: Circumstances) -> Failure:
    """The failure that a process which ended badly stands for."""
    row = next((row for row in ROWS if row.matches(ended)), None)
    killed = ended.code == -signal.SIGKILL
    if not killed and (known := explain(ended.log or ended.tail, ended=True)):
        reason, words = known
        return Failure(reason, f"{about.doing}: {words}", log=ended.tail)
    template = row.message if row else "{doing} ended with {end}: the last lines of its log say why"
    message = template.format(
        doing=about.doing,
        source=about.source,
        memory=megabytes(ended.peak),
        limit=megabytes(about.limit) if about.limit else "not set",
        room=f"about {megabytes(about.needed)} needed, {megabytes(about.free)} free",
        end=_end(ended.code),
    )
    return Failure(row.reason if row else about.otherwise, message, log=ended.tail)


def _end(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
