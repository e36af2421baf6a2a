"""Every child of a service without a cluster: what `vertical-operator render` prints and golden files hold."""

from vertical_operator.api.v1alpha1 import VerticalService
from vertical_operator.core.intents import Manifest
from vertical_operator.core.settings import OperatorSettings


def children(service: VerticalService, settings: OperatorSettings) -> tuple[Manifest, ...]:
    """All children as if every engine were built, build Jobs included. Raises `Refused` when a placement can't be resolved."""
    raise NotImplementedError
