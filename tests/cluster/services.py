"""VerticalServices for tests on the cluster: the shipped examples, changed where a test needs it, and what they say of themselves."""

import copy
from collections.abc import Callable
from typing import Any

import yaml

from tests.cluster.cluster import Cluster, Object
from tests.cluster.locations import PROJECT
from tests.cluster.waiting import eventually
from vertical_engines.client import ServerUnreachable, VerticalClient
from vertical_engines.contract.serving import HTTP_PORT
from verticals.poi_matching.schemas import BlsRequest, BlsResponse

KIND = "verticalservice"
ENTRYPOINT = "poi_matching_bls"
SERVICE_LABEL = "serving.vertical-operator.io/service"
BUILD_TIME = 300
"""Seconds within which an engine is built and served here, with everything else that goes on."""


def example(name: str, *, called: str = "", change: Callable[[Any], None] | None = None) -> Object:
    """An example of docs/examples, without its namespace, under another name, with its spec changed in place.

    Its CPU requests are lowered: several services share a node of two cores here.
    """
    content: Object = copy.deepcopy(yaml.safe_load((PROJECT / "docs" / "examples" / f"{name}.yaml").read_text()))
    for variant in content["spec"]["variants"]:
        for placement in variant["placements"]:
            placement.get("resources", {}).get("requests", {}).update(cpu="50m", memory="256Mi")
    content["metadata"].pop("namespace", None)
    if called:
        content["metadata"]["name"] = called
    if change:
        change(content["spec"])
    return content


def only_realtime(spec: Any) -> None:
    """Half the work where a test needs no second variant."""
    spec["variants"] = [variant for variant in spec["variants"] if variant["name"] == "realtime"]


def conditions(content: Object) -> dict[str, Object]:
    """By type; empty before the operator's first visit."""
    return {each["type"]: each for each in content.get("status", {}).get("conditions", [])}


def await_serving(cluster: Cluster, name: str, *, namespace: str, timeout: float = BUILD_TIME) -> Object:
    """The service once it is Ready, nothing is going on and nothing is wrong."""

    def probe() -> Object:
        found = cluster.get(KIND, name, namespace=namespace)
        assert found, f"there is no {name}"
        seen = conditions(found)
        fresh = found["status"].get("observedGeneration") == found["metadata"]["generation"]
        states = {kind: (each["status"], each["message"]) for kind, each in seen.items()}
        assert fresh, states
        assert seen["Ready"]["status"] == "True", states
        assert seen["Reconciling"]["status"] == seen["Stalled"]["status"] == "False", states
        return found

    return eventually(f"{name} serves", probe, timeout=timeout)


def await_reason(cluster: Cluster, kind: str, name: str, *, namespace: str, condition: str, reason: str, timeout: float = 120) -> Object:
    """The condition once it is True for that reason and the newest generation."""

    def probe() -> Object:
        found = cluster.get(kind, name, namespace=namespace)
        assert found, f"there is no {kind} {name}"
        seen = conditions(found).get(condition, {})
        assert (seen.get("status"), seen.get("reason")) == ("True", reason), found.get("status")
        assert seen["observedGeneration"] == found["metadata"]["generation"]
        return seen

    return eventually(f"{name}: {condition} for {reason}", probe, timeout=timeout)


def ask(cluster: Cluster, service: str, variant: str, *, namespace: str, receipt: BlsRequest | None = None) -> BlsResponse:
    """One real request through the variant's Service; tried again while kube-proxy has not heard of the pods yet."""
    receipt = receipt or BlsRequest(name="COPPR CRANE GRIL", tel=["555 984 0001"])

    def probe() -> BlsResponse:
        with (
            cluster.forward(namespace, f"{service}-{variant}", HTTP_PORT) as address,
            VerticalClient(f"http://{address}", request=BlsRequest, response=BlsResponse, model=ENTRYPOINT, timeout=60) as client,
        ):
            try:
                return client.infer(receipt)
            except ServerUnreachable as refused:
                raise AssertionError(str(refused)) from refused

    return eventually(f"{service}-{variant} answers", probe, timeout=30)


def placements(content: Object) -> dict[tuple[str, str], Object]:
    """Entries of the status by variant and placement."""
    entries = content["status"]["variants"]
    return {(variant["name"], placement["name"]): placement for variant in entries for placement in variant["placements"]}
