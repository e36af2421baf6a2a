"""What has to be read from the API server before a plan can be made."""

from vertical_operator.api.v1alpha1 import Engine, VerticalService
from vertical_operator.core.intents import Lookups
from vertical_operator.core.settings import OperatorSettings


def service_lookups(service: VerticalService, settings: OperatorSettings) -> Lookups:
    """Children by label, wanted children by name (a foreign object may stand there), Engines, and nodes when GPUs are asked for."""
    raise NotImplementedError


def engine_lookups(engine: Engine) -> Lookups:
    """Jobs and pods by label, its claims, and the namespace while it is being deleted."""
    raise NotImplementedError
