"""What a policy is: a named pure function from a target to findings, and the one way to make a finding of a target."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from vertical_engines.contract.reasons import Reason
from vertical_operator.core.finding import Finding
from vertical_operator.core.identity import Target

Policy: TypeAlias = Callable[[Target], Iterator[Finding]]


def finding(target: Target, field: str, *, policy: Policy, reason: Reason, what: str, why: str, instead: str) -> Finding:
    """A finding about one placement."""
    return Finding(policy=policy.__name__, field=field, where=target.where, reason=reason, what=what, why=why, instead=instead)


def plugin_path(target: Target, key: str) -> str:
    """Path of a key of plugin_config."""
    return f"{target.variant_path}.buildConfig.plugin_config.{key}"


def is_on(value: object) -> bool:
    """A switch of plugin_config, in either of its spellings."""
    return value in (True, "enable")


def is_off(value: object) -> bool:
    return value in (False, "disable")
