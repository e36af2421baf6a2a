"""Policies on build flags: keys that the release knows, with values that it takes."""

from collections.abc import Iterator
from difflib import get_close_matches

from vertical_engines.contract.flags import FlagHistory
from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.toolchains import Matrix
from vertical_engines.contract.versions import Version
from vertical_operator.core.finding import Finding
from vertical_operator.core.identity import Target
from vertical_operator.core.names import listed
from vertical_operator.core.policies.gpu import PARALLELISM
from vertical_operator.core.policies.kv_cache import KV_CACHE_TYPE
from vertical_operator.core.policies.policy import finding, plugin_path


def _histories(target: Target) -> dict[str, FlagHistory]:
    """Keys of plugin_config over all versions; empty for a backend that takes what it knows and passes over the rest."""
    found = target.matrix.file.flags.get(target.release.backend, {})
    return {name: history for name, history in found.items() if history.spec.plugin}


def flag_is_unknown(target: Target) -> Iterator[Finding]:
    """A key that `trtllm-build` of this release would refuse: gone, not there yet, or misspelt."""
    histories = _histories(target)
    if not histories:
        return
    for key in target.identity.build.plugin_config:
        spec = target.release.flags.get(key)
        if (spec and spec.plugin) or key in (*PARALLELISM, KV_CACHE_TYPE):
            continue
        yield finding(
            target,
            plugin_path(target, key),
            policy=flag_is_unknown,
            reason=Reason.UNSUPPORTED_BUILD_FLAG,
            what=f"{target.row} has no build flag {key}",
            why=_why_unknown(key, histories.get(key), target=target),
            instead=_instead_of(key, histories, target=target),
        )


def _why_unknown(key: str, history: FlagHistory | None, *, target: Target) -> str:
    here = target.release.versions.get("tensorrt_llm", "")
    if history is None:
        return "it is a flag of trtllm-build, but no key of plugin_config" if target.release.knows(key) else "no release has it"
    if history.until and not target.release.knows(key) and target.release.version >= Version.of(history.until):
        return f"it is gone since TensorRT-LLM {history.until}, and this is {here}"
    return f"it came with TensorRT-LLM {history.since}, and this is {here}"


def _instead_of(key: str, histories: dict[str, FlagHistory], *, target: Target) -> str:
    if key in histories:
        return instead_of_flag(target.matrix, target.release.backend, key=key)
    known = [name for name in histories if target.release.knows(name)]
    close = get_close_matches(key, known, n=1)
    return f"write {close[0]}, or remove it" if close else "remove it"


def instead_of_flag(matrix: Matrix, backend: str, *, key: str) -> str:
    """What to do about a flag that other releases know."""
    able = [row.release for row in matrix.releases if row.backend == backend and row.knows(key)]
    return f"remove it, or use one of the releases that know it: {listed(able)}"


def flag_value_is_wrong(target: Target) -> Iterator[Finding]:
    """A value that the release does not take."""
    for key, value in target.identity.build.plugin_config.items():
        spec = target.release.flags.get(key)
        objection = spec.objection(value) if spec and spec.plugin and spec.step != "automatic" else None
        if objection:
            yield finding(
                target,
                plugin_path(target, key),
                policy=flag_value_is_wrong,
                reason=Reason.UNSUPPORTED_BUILD_FLAG,
                what=f"{key} is {value}",
                why=f"in {target.row} it {objection}",
                instead="correct the value, or remove it",
            )
