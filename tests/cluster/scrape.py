"""Reads Prometheus metrics of one pod."""

import urllib.request
from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families

from tests.cluster.cluster import Cluster


def total(cluster: Cluster, *, namespace: str, pod: str, port: int, name: str, labels: Mapping[str, str] | None = None) -> float:
    """Sum of the samples of that name whose labels include the given ones; 0 when there is none."""
    wanted = dict(labels or {})
    spellings = (name, f"{name}_total")  # the parser gives counters the suffix that Triton leaves out
    with cluster.forward_pod(namespace, pod, port) as address, urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    samples = (sample for family in text_string_to_metric_families(text) for sample in family.samples if sample.name in spellings)
    return sum(sample.value for sample in samples if wanted.items() <= sample.labels.items())
