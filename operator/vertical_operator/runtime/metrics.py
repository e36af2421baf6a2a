"""Prometheus metrics of the process, in a registry of its own so that two operators can live in one test."""

from collections.abc import Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

RECONCILE_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


Statuses = dict[str, str]
"""Condition type to its status."""


class Metrics:
    """Every metric, by name. Labels are bounded: kinds, verbs, codes and condition types, never names of objects."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._statuses: dict[tuple[str, str, str], Statuses] = {}
        self.reconciles = Counter(
            "vertical_operator_reconcile_total", "Reconciles by kind and result", ["kind", "result"], registry=self.registry
        )
        self.reconcile_seconds = Histogram(
            "vertical_operator_reconcile_seconds", "Duration of a reconcile", ["kind"], buckets=RECONCILE_BUCKETS, registry=self.registry
        )
        self.api_requests = Counter(
            "vertical_operator_api_requests_total",
            "API requests by verb, kind and HTTP status",
            ["verb", "kind", "code"],
            registry=self.registry,
        )
        self.queue_depth = Gauge("vertical_operator_queue_depth", "Keys that wait for a worker", registry=self.registry)
        self.queue_age = Gauge("vertical_operator_queue_age_seconds", "Age of the longest waiting key", registry=self.registry)
        self.conditions = Gauge(
            "vertical_operator_conditions", "Objects by kind, condition and status", ["kind", "type", "status"], registry=self.registry
        )
        self.transitions = Counter(
            "vertical_operator_condition_transitions_total", "Changes of a condition", ["kind", "type", "status"], registry=self.registry
        )
        self.relists = Counter(
            "vertical_operator_watch_relists_total", "Watches that had to start over from a list", registry=self.registry
        )
        self.leader = Gauge("vertical_operator_leader", "1 while this process holds the lease", registry=self.registry)
        self.loop_lag = Gauge("vertical_operator_event_loop_lag_seconds", "How late the event loop runs", registry=self.registry)

    def count_request(self, verb: str, kind: str, code: int) -> None:
        """`kube.client.CountRequest`."""
        self.api_requests.labels(verb, kind, str(code)).inc()

    def observe_conditions(self, key: tuple[str, str, str], status: Mapping[str, Any] | None) -> None:
        """Count an object (kind, namespace, name) by its conditions as they are now; None when it is gone."""
        before = self._statuses.pop(key, {})
        after = {condition["type"]: condition["status"] for condition in (status or {}).get("conditions") or []}
        if after:
            self._statuses[key] = after
        for kind, value in before.items() - after.items():
            self.conditions.labels(key[0], kind, value).dec()
        for kind, value in after.items() - before.items():
            self.conditions.labels(key[0], kind, value).inc()

    def text(self) -> bytes:
        """The exposition format."""
        return generate_latest(self.registry)
