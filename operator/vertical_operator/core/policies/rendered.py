"""Policies on what is rendered: no placeholder may reach Triton (R12)."""

from collections.abc import Iterator

from vertical_engines.contract.reasons import Reason
from vertical_operator.core.finding import Finding
from vertical_operator.core.identity import Target
from vertical_operator.core.policies.policy import finding
from vertical_operator.core.render.configmap import generator_config

PLACEHOLDER = "${"


def placeholder_is_left(target: Target) -> Iterator[Finding]:
    """R12. Triton reads an unfilled placeholder as text, and a mistyped one as the default, without a word."""
    if PLACEHOLDER in generator_config(target).to_pbtxt():
        yield finding(
            target,
            "spec.model",
            policy=placeholder_is_left,
            reason=Reason.MODEL_CONFIG_INCOMPLETE,
            what=f"the configuration of model {target.service.spec.model.name} holds {PLACEHOLDER}",
            why="nothing fills placeholders in",
            instead="write the value",
        )
