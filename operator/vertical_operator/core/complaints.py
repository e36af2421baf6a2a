"""What pods complain about, translated: our containers' last words, images, crashes, the scheduler."""

import re
from collections.abc import Iterable
from datetime import datetime

from vertical_engines.contract.build import BuildFailure
from vertical_engines.contract.known_failures import explain
from vertical_engines.contract.masking import masked
from vertical_engines.contract.reasons import Reason
from vertical_operator.core.pods import ContainerState, PodState
from vertical_operator.core.settings import OperatorSettings
from vertical_operator.core.verdict import Verdict, after, stalled, until, waiting

CRASHES = 3
"""Restarts in a row that make a crash loop."""

GUARD = "guard"
"""The sidecar; it ends by itself when the server refuses every canary."""

LAST_LINES = 3
"""Lines of a log that are shown where no line tells the cause."""
WORDS_LIMIT = 600
LOG_HEAD = re.compile(r"^[IWEF]\d{4} [\d:.]+ \d+ \S+\] ")
"""Level, time, thread and place in front of a line of Triton's log."""
HARMLESS = re.compile(r"^[IW]\d{4} [\d:.]+ ")
CAUSE = "failed to load '"
"""Triton's word on a model that does not start; the server ends long after it, for no other reason."""


def last_failure(pods: Iterable[PodState]) -> BuildFailure | None:
    """The newest translated failure; pods oldest first."""
    outcomes = [container.outcome for pod in pods for container in pod.containers]
    failures = [outcome.failure for outcome in outcomes if outcome and outcome.failure]
    return failures[-1] if failures else None


def image_words(container: ContainerState) -> str:
    """The kubelet's cause without its back-off prefix, which comes and goes."""
    text = container.waiting_message or container.waiting_reason
    return text.split("ErrImagePull: ", 1)[-1]


def image_complaint(pod: PodState, settings: OperatorSettings, *, now: datetime) -> Verdict | None:
    container = next((container for container in pod.containers if container.image_unavailable), None)
    if container is None:
        return None
    text = f"pod {pod.name} can't pull image {container.image} for container {container.name}: {image_words(container)}"
    deadline = after(pod.created, settings.image_deadline, now=now)
    return until(deadline, now=now, wait=waiting(Reason.IMAGE_UNAVAILABLE, text), reason=Reason.IMAGE_UNAVAILABLE)


def translated_complaint(pod: PodState) -> Verdict | None:
    """Last words that our own containers left: no retry cures them, so there is nothing to wait for.

    A guard that runs again counts as ready; what it said is true until the pod is.
    """
    for container in pod.containers:
        if (not container.ready or container.name == GUARD) and container.outcome and (failure := container.outcome.failure):
            return stalled(failure.reason, f"pod {pod.name}, container {container.name}: {failure.message}")
    return None


def known_complaint(pod: PodState) -> Verdict | None:
    """A server that ended with words that are known: the same would happen again, so no crash loop has to be seen first."""
    for container in pod.containers:
        if container.ready or not container.exit_code or container.outcome:
            continue
        if known := explain(_errors(container.exit_message), ended=True):
            reason, message = known
            return stalled(reason, f"pod {pod.name}, container {container.name}: {message}")
    return None


def last_words(text: str) -> str:
    """What a log's end tells, on one line: why models do not load, else its last lines; tables left out."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("|", "+-"))]
    told = [line for line in lines if CAUSE in line and line.startswith("E")] or lines[-LAST_LINES:]
    plain = (LOG_HEAD.sub("", line).strip('"').replace("\\n", " ") for line in dict.fromkeys(told))
    return " | ".join(" ".join(masked(line).split()) for line in plain)[:WORDS_LIMIT]


def _errors(text: str) -> list[str]:
    """Without what Triton only warns of: on every node without a GPU it does, of a driver that is missing."""
    return [line for line in text.splitlines() if not HARMLESS.match(line)]


def crash_complaint(pod: PodState) -> Verdict | None:
    crashing = (c for c in pod.containers if c.waiting_reason == "CrashLoopBackOff" and c.restarts >= CRASHES)
    container = next(crashing, None)
    if container is None:
        return None
    words = last_words(container.exit_message) or container.exit_reason or "no last words"
    text = f"pod {pod.name}: container {container.name} ends again and again with exit code {container.exit_code}: {words}"
    return stalled(Reason.CONTAINER_CRASHING, text)


def start_complaint(pod: PodState) -> Verdict | None:
    """The scheduler finds no node, or the kubelet can't create a container: both may still change."""
    if pod.unscheduled:
        return waiting(Reason.WAITING_FOR_POD, f"pod {pod.name} finds no node: {pod.unscheduled}")
    odd = (c for c in pod.containers if c.waiting_reason not in ("", "PodInitializing", "ContainerCreating", "CrashLoopBackOff"))
    container = next(odd, None)
    if container is None:
        return None
    words = container.waiting_message or container.waiting_reason
    return waiting(Reason.WAITING_FOR_POD, f"pod {pod.name}, container {container.name}: {container.waiting_reason}: {words}")


def complaint(pods: Iterable[PodState], settings: OperatorSettings, *, now: datetime) -> Verdict | None:
    """The gravest complaint of any of these pods: stalled before waiting."""
    found = []
    for pod in pods:
        of_pod = (
            translated_complaint(pod),
            known_complaint(pod),
            crash_complaint(pod),
            image_complaint(pod, settings, now=now),
            start_complaint(pod),
        )
        found += [verdict for verdict in of_pod if verdict]
    return min(found, key=lambda verdict: verdict.state != "stalled", default=None)
