"""The shipped example on the cluster: both variants serve, share with others, heal, write nothing at rest, and leave nothing."""

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from tests.cluster.audit import writes
from tests.cluster.cluster import Cluster
from tests.cluster.operator_install import ACCOUNT, operator_pod
from tests.cluster.operator_install import NAMESPACE as OPERATOR_NAMESPACE
from tests.cluster.scrape import total
from tests.cluster.services import KIND, SERVICE_LABEL, ask, await_serving, example, only_realtime, placements
from tests.cluster.waiting import eventually
from vertical_engines.client import VerticalError
from vertical_engines.contract.serving import METRICS_PORT
from verticals.poi_matching.schemas import BlsRequest

NAME = "poi-matching"
VARIANTS = ("realtime", "background")
RECONCILES = "vertical_operator_reconcile_total"


@pytest.fixture(scope="module")
def home(operator: Cluster) -> Iterator[str]:
    """A namespace in which the example serves."""
    name = f"two-variants-{secrets.token_hex(3)}"
    operator.apply(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
        }
    )
    operator.apply(example("poi-matching-cpu"), namespace=name)
    await_serving(operator, NAME, namespace=name)
    yield name
    operator.delete("namespace", name, timeout=240)


def test_both_variants_answer_from_their_own_engine(operator: Cluster, home: str) -> None:
    service = await_serving(operator, NAME, namespace=home)
    engines = {variant: entry["servingEngine"] for (variant, _), entry in placements(service).items()}
    assert set(engines) == set(VARIANTS)
    assert len(set(engines.values())) == 2, "each variant has an engine of its own"
    for variant in VARIANTS:
        answer = ask(operator, NAME, variant, namespace=home)
        assert answer.matched
        assert answer.name == "Copper Crane Grill"
        assert (answer.variant, answer.engine) == (variant, engines[variant])


def test_columns_answer_without_logs(operator: Cluster, home: str) -> None:
    header, row = operator.kubectl("get", "vsvc", NAME, namespace=home).splitlines()
    assert header.split() == ["NAME", "READY", "REASON", "VARIANTS", "ENGINES", "AGE"]
    assert row.split()[1:5] == ["True", "Ready", "2/2", "2/2"]
    assert "MESSAGE" in operator.kubectl("get", "vsvc", NAME, "-o", "wide", namespace=home)


def test_limits_are_enforced_where_they_are_served(operator: Cluster, home: str) -> None:
    with pytest.raises(VerticalError, match="at least one must not be empty"):
        ask(
            operator,
            NAME,
            "realtime",
            namespace=home,
            receipt=BlsRequest.model_construct(name="", subname=None, biznum=None, address=None, tel=None),
        )


def test_repeated_prompt_is_answered_by_the_response_cache(operator: Cluster, home: str) -> None:
    receipt = BlsRequest(name=f"Cache {secrets.token_hex(4)}")
    before = _cache_hits(operator, home)
    first, second = (ask(operator, NAME, "realtime", namespace=home, receipt=receipt) for _ in range(2))
    assert second.generated == first.generated
    assert _cache_hits(operator, home) > before


def test_engine_is_reused_by_a_second_service(operator: Cluster, home: str) -> None:
    def share(spec: dict[str, object]) -> None:
        only_realtime(spec)
        spec["engineStore"] = {"persistentVolumeClaim": {"claimName": f"{NAME}-engines"}}

    jobs = {job["metadata"]["uid"] for job in operator.objects("jobs", namespace=home)}
    operator.apply(example("poi-matching-cpu", called="second", change=share), namespace=home)
    second = await_serving(operator, "second", namespace=home)
    first = await_serving(operator, NAME, namespace=home)
    shared = placements(second)["realtime", "cpu"]
    assert shared["engine"] == placements(first)["realtime", "cpu"]["engine"]
    assert {job["metadata"]["uid"] for job in operator.objects("jobs", namespace=home)} == jobs, "nothing was built again"
    owners = {owner["name"] for owner in operator.the("engine", shared["engine"], namespace=home)["metadata"]["ownerReferences"]}
    assert owners == {NAME, "second"}

    operator.delete(KIND, "second", namespace=home)
    eventually("the children of the second service are gone", lambda: not _children(operator, "second", namespace=home))
    assert operator.get("engine", shared["engine"], namespace=home), "the first service still needs it"
    assert ask(operator, NAME, "realtime", namespace=home).matched


@pytest.mark.parametrize("kind", ["deployment", "service"])
def test_deleted_child_comes_back(operator: Cluster, home: str, kind: str) -> None:
    name = f"{NAME}-realtime-cpu" if kind == "deployment" else f"{NAME}-realtime"
    old = operator.the(kind, name, namespace=home)["metadata"]["uid"]
    operator.delete(kind, name, namespace=home, wait=False)

    def replaced() -> bool:
        found = operator.get(kind, name, namespace=home)
        return found is not None and bool(found["metadata"]["uid"] != old)

    eventually(f"{kind} is made anew", replaced)
    await_serving(operator, NAME, namespace=home)
    assert ask(operator, NAME, "realtime", namespace=home).matched


def test_drift_is_repaired(operator: Cluster, home: str) -> None:
    workload, service = f"{NAME}-background-cpu", f"{NAME}-background"
    image = operator.the("deployment", workload, namespace=home)["spec"]["template"]["spec"]["containers"][0]["image"]
    operator.kubectl("patch", "service", service, "--type=merge", "-p", '{"spec":{"selector":{"app":"nothing"}}}', namespace=home)
    operator.kubectl("set", "image", f"deployment/{workload}", "triton=registry.invalid/other:1", namespace=home)

    def repaired() -> bool:
        deployment = operator.the("deployment", workload, namespace=home)
        selector = operator.the("service", service, namespace=home)["spec"]["selector"]
        return bool(deployment["spec"]["template"]["spec"]["containers"][0]["image"] == image and "app" not in selector)

    eventually("image and selector are as they were", repaired)
    await_serving(operator, NAME, namespace=home)
    assert ask(operator, NAME, "background", namespace=home).matched


def test_label_taken_away_comes_back(operator: Cluster, home: str) -> None:
    """A child without our labels falls out of every watch: it must be found by name all the same."""
    name = f"{NAME}-realtime"
    operator.kubectl("label", "service", name, "app.kubernetes.io/managed-by-", namespace=home)

    def labelled() -> bool:
        labels = operator.the("service", name, namespace=home)["metadata"]["labels"]
        return bool(labels.get("app.kubernetes.io/managed-by") == "vertical-operator")

    eventually("the label is back", labelled)


def test_second_pass_writes_nothing(operator: Cluster, home: str) -> None:
    """Touched objects are looked at again, which shows in the operator's own count; nothing may be written for it."""
    await_serving(operator, NAME, namespace=home)
    eventually("the operator is at rest", lambda: _operator(operator, "vertical_operator_queue_depth") == 0)
    started, before = datetime.now(UTC), _operator(operator, RECONCILES)
    names = [KIND + "/" + NAME, *(f"engine/{engine['metadata']['name']}" for engine in operator.objects("engines", namespace=home))]
    for number in range(3):
        operator.kubectl("annotate", "--overwrite", *names, f"tests.example/touched=at-{number}", namespace=home)
    eventually("the operator has looked again", lambda: _operator(operator, RECONCILES) >= before + len(names))
    eventually("the operator is at rest", lambda: _operator(operator, "vertical_operator_queue_depth") == 0)
    written = [write for write in writes(operator, user=ACCOUNT, since=started) if write.resource != "leases" and write.namespace == home]
    assert written == []


def test_deleted_service_leaves_nothing(operator: Cluster, home: str) -> None:
    operator.delete(KIND, NAME, namespace=home)
    eventually("every child is gone", lambda: not _everything(operator, namespace=home), timeout=180)


def _everything(cluster: Cluster, *, namespace: str) -> list[str]:
    kinds = "engines,jobs,deployments,services,configmaps,persistentvolumeclaims,pods"
    found = cluster.objects(kinds, namespace=namespace)
    return [f"{each['kind']} {each['metadata']['name']}" for each in found if each["metadata"]["name"] != "kube-root-ca.crt"]


def _children(cluster: Cluster, service: str, *, namespace: str) -> list[str]:
    found = cluster.objects("deployments,services,configmaps", namespace=namespace, selector=f"{SERVICE_LABEL}={service}")
    return [each["metadata"]["name"] for each in found]


def _cache_hits(cluster: Cluster, namespace: str) -> float:
    selector = f"{SERVICE_LABEL}={NAME},serving.vertical-operator.io/variant=realtime"
    pods = [pod for pod in cluster.objects("pods", namespace=namespace, selector=selector) if "deletionTimestamp" not in pod["metadata"]]
    name = "nv_cache_num_hits_per_model"
    return sum(total(cluster, namespace=namespace, pod=pod["metadata"]["name"], port=METRICS_PORT, name=name) for pod in pods)


def _operator(cluster: Cluster, name: str) -> float:
    return total(cluster, namespace=OPERATOR_NAMESPACE, pod=operator_pod(cluster), port=8080, name=name)
