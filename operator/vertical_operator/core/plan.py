"""From wanted and observed to a plan."""

from datetime import datetime

from vertical_operator.api.v1alpha1 import Engine, VerticalService
from vertical_operator.core.intents import Plan
from vertical_operator.core.observed import ObservedEngine, ObservedService
from vertical_operator.core.settings import OperatorSettings


def plan(service: VerticalService, observed: ObservedService, settings: OperatorSettings, now: datetime) -> Plan:
    """What to apply, delete and report for a service."""
    raise NotImplementedError


def plan_engine(engine: Engine, observed: ObservedEngine, settings: OperatorSettings, now: datetime) -> Plan:
    """What to apply, delete and report for an engine."""
    raise NotImplementedError
