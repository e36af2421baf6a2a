"""Version v1alpha1 of both kinds, as frozen models."""

from vertical_operator.api.v1alpha1.engine import Engine, EngineStatus
from vertical_operator.api.v1alpha1.parse import InvalidObject, parse
from vertical_operator.api.v1alpha1.service_status import VerticalServiceStatus
from vertical_operator.api.v1alpha1.vertical_service import VerticalService

__all__ = ["Engine", "EngineStatus", "InvalidObject", "VerticalService", "VerticalServiceStatus", "parse"]
