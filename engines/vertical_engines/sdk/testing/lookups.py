"""The plain functions of `triton_python_backend_utils` and its metrics, for models that use them directly."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vertical_engines.sdk.dtypes import NUMPY_DTYPES, STRING


def get_input_tensor_by_name(request: Any, name: str) -> Any:
    return _named(request.inputs(), name)


def get_output_tensor_by_name(response: Any, name: str) -> Any:
    return _named(response.output_tensors(), name)


def get_input_config_by_name(model_config: Mapping[str, Any], name: str) -> Any:
    return next((tensor for tensor in model_config.get("input", []) if tensor["name"] == name), None)


def get_output_config_by_name(model_config: Mapping[str, Any], name: str) -> Any:
    return next((tensor for tensor in model_config.get("output", []) if tensor["name"] == name), None)


def triton_string_to_numpy(data_type: str) -> Any:
    return np.object_ if data_type == STRING else NUMPY_DTYPES[data_type].type


def _named(tensors: list[Any], name: str) -> Any:
    return next((tensor for tensor in tensors if tensor.name() == name), None)


class FakeMetric:
    """One series."""

    def __init__(self) -> None:
        self._value = 0.0
        self.observed: list[float] = []

    def increment(self, by: float) -> None:
        self._value += by

    def set(self, value: float) -> None:
        self._value = value

    def observe(self, value: float) -> None:
        self.observed.append(value)

    def value(self) -> float:
        return self._value


class FakeMetricFamily:
    """Series of one name by their labels."""

    COUNTER, GAUGE, HISTOGRAM = range(3)

    def __init__(self, name: str, description: str, kind: int) -> None:
        self.name, self.description, self.kind = name, description, kind
        self.series: dict[tuple[tuple[str, str], ...], FakeMetric] = {}

    def Metric(self, labels: Mapping[str, str] | None = None, buckets: list[float] | None = None) -> FakeMetric:
        return self.series.setdefault(tuple(sorted((labels or {}).items())), FakeMetric())
