"""What a loop tells about its traffic, so that batch sizes and queues, which Triton can't see, stand among its metrics."""

from typing import Any, Protocol


class Traffic(Protocol):
    """Told whenever something changes, never per token."""

    def show(self, *, waiting: int, live: int) -> None: ...

    def count_tokens(self, tokens: int) -> None: ...


class NoTraffic:
    """For loops that nobody watches."""

    def show(self, *, waiting: int, live: int) -> None:
        """Not shown."""

    def count_tokens(self, tokens: int) -> None:
        """Not counted."""


class TritonTraffic:
    """Metrics on Triton's own metrics port, labelled with the model's name."""

    def __init__(self, *, model: str) -> None:
        import triton_python_backend_utils as triton

        gauge, counter = triton.MetricFamily.GAUGE, triton.MetricFamily.COUNTER
        families = (
            ("vertical_generator_waiting_requests", "Requests that wait for a place in the batch", gauge),
            ("vertical_generator_live_requests", "Requests that are being generated", gauge),
            ("vertical_generator_tokens_total", "Tokens generated since the server started", counter),
        )
        # a family must outlive its metrics
        self._families = [triton.MetricFamily(name=name, description=text, kind=kind) for name, text, kind in families]
        self._waiting, self._live, self._tokens = (family.Metric(labels={"model": model}) for family in self._families)
        self._shown: dict[str, Any] = {}

    def show(self, *, waiting: int, live: int) -> None:
        for name, metric, value in (("waiting", self._waiting, waiting), ("live", self._live, live)):
            if self._shown.get(name) != value:
                self._shown[name] = value
                metric.set(value)

    def count_tokens(self, tokens: int) -> None:
        self._tokens.increment(tokens)
