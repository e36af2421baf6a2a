"""The generated ValidatingAdmissionPolicy on a real API server: what the policies refuse it refuses in the same words, and nothing else."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.cluster.cluster import Cluster
from tests.cluster.errors import ClusterError
from tests.cluster.locations import PROJECT
from tests.cluster.waiting import eventually
from tests.support.combinations import A100, BAD, T4, Bad, on
from tests.support.objects import VALID, service
from tests.support.sound_combinations import GOOD
from vertical_engines.contract.toolchains import matrix
from vertical_operator.api.v1alpha1 import VerticalService, parse
from vertical_operator.core.admission.policy import admission_policy, binding
from vertical_operator.core.policies import findings
from vertical_operator.core.settings import OperatorSettings

EXAMPLES = sorted((PROJECT / "docs" / "examples").glob("*.yaml"))
NAMESPACE = "admission-checks"
NAME = "test-admission-checks"
SAID_BY_ADMISSION = [row for row in BAD if row.admission]


def bound(namespace: str) -> list[dict[str, Any]]:
    """Policy and binding for one namespace. Errors of expressions refuse here: in the chart they let pass, and would hide."""
    policy, tie = admission_policy(matrix()), binding()
    policy["metadata"]["name"] = tie["metadata"]["name"] = tie["spec"]["policyName"] = NAME
    policy["spec"]["failurePolicy"] = "Fail"
    tie["spec"]["matchResources"] = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    return [policy, tie]


@pytest.fixture(scope="module")
def guarded(cluster: Cluster) -> Iterator[Cluster]:
    """The cluster with the definitions, and the policy in force in one namespace."""
    for path in sorted((PROJECT / "crds").glob("*.yaml")):
        cluster.apply(path, manager="kubectl")
        cluster.wait("crd", yaml.safe_load(path.read_text())["metadata"]["name"], "Established")
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    cluster.apply(bound(NAMESPACE))
    eventually("the policy is in force", lambda: in_force(cluster))
    yield cluster
    cluster.delete("validatingadmissionpolicybinding", NAME)
    cluster.delete("validatingadmissionpolicy", NAME)
    cluster.delete("namespace", NAMESPACE, wait=False)


def verdict(cluster: Cluster, content: dict[str, Any], *words: str) -> str | None:
    """What the server says to a creation, or None when it would create it."""
    try:
        cluster.kubectl("create", *(words or ["--dry-run=server"]), "-f", "-", namespace=NAMESPACE, stdin=json.dumps(content))
    except ClusterError as refusal:
        return str(refusal)
    return None


def in_force(cluster: Cluster) -> bool:
    """The server takes a moment to take notice of a binding."""
    return NAME in (verdict(cluster, BAD[0].content()) or "")


@pytest.mark.parametrize("row", SAID_BY_ADMISSION, ids=lambda row: row.name)
def test_the_server_refuses_in_the_words_of_the_check(guarded: Cluster, row: Bad) -> None:
    said = verdict(guarded, row.content())
    assert said is not None
    finding = findings(parse(VerticalService, row.content()), OperatorSettings())[0]
    # CEL can't look for the flag that was meant: that part of the advice is the command line's alone.
    words = finding.message.partition("; ")[0] if "write " in finding.instead else finding.message
    assert words in said


@pytest.mark.parametrize("row", [row for row in BAD if not row.admission], ids=lambda row: row.name)
def test_what_only_the_operator_says_passes_here(guarded: Cluster, row: Bad) -> None:
    assert verdict(guarded, row.content()) is None


@pytest.mark.parametrize(("name", "changes"), [*GOOD, *VALID], ids=[name for name, _ in [*GOOD, *VALID]])
def test_nothing_that_works_is_refused(guarded: Cluster, name: str, changes: list[tuple[str, Any]]) -> None:
    assert verdict(guarded, service(*changes)) is None


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_no_example_is_refused(guarded: Cluster, path: Any) -> None:
    content = yaml.safe_load(path.read_text())
    content["metadata"].pop("namespace", None)
    assert verdict(guarded, content) is None


def test_the_largest_object_is_within_the_budget(guarded: Cluster) -> None:
    """Eight variants on eight GPU types each, every flag given: no expression runs out of what the server grants it."""
    content = service(*on(A100, "25.05"))
    variant = content["spec"]["variants"][0]
    flags = matrix().release(backend="TensorRTLLM", name="25.05")
    assert flags
    given = {name: "disable" for name, flag in flags.flags.items() if flag.plugin and flag.kind in ("switch", "choice")}
    needed = ("paged_kv_cache", "remove_input_padding", "gpt_attention_plugin", "context_fmha")
    variant["buildConfig"]["plugin_config"] = {
        **{name: value for name, value in given.items() if name not in needed},
        "paged_kv_cache": True,
    }
    variant["placements"] = [{**variant["placements"][0], "name": f"p{number}"} for number in range(8)]
    content["spec"]["variants"] = [{**copy.deepcopy(variant), "name": f"v{number}"} for number in range(8)]
    assert findings(parse(VerticalService, content), OperatorSettings()) == ()
    assert verdict(guarded, content) is None


def test_an_object_of_before_is_not_locked(guarded: Cluster) -> None:
    """Labels, finalizers and status of an object that the matrix has come to refuse can change; its spec only for the better."""
    old = service(*on(T4, "24.10"))
    guarded.delete("validatingadmissionpolicybinding", NAME)
    eventually("the policy is no longer in force", lambda: verdict(guarded, old) is None)
    assert verdict(guarded, old, "--save-config=false") is None
    guarded.apply(bound(NAMESPACE))
    eventually("the policy is in force", lambda: in_force(guarded))
    guarded.kubectl("label", "vsvc", "reviews", "team=place", namespace=NAMESPACE)
    with pytest.raises(ClusterError, match=r"TensorRTLLM 24\.10 does not run on Tesla-T4"):
        guarded.kubectl("patch", "vsvc", "reviews", "--type=merge", "-p", '{"spec":{"model":{"revision":"2"}}}', namespace=NAMESPACE)
    guarded.kubectl("patch", "vsvc", "reviews", "--type=merge", "-p", '{"spec":{"toolchain":{"release":"24.09"}}}', namespace=NAMESPACE)
    guarded.delete("vsvc", "reviews", namespace=NAMESPACE)


def test_the_table_covers_what_cel_can_say() -> None:
    """Each validation has a row that it refuses."""
    validations = len(admission_policy(matrix())["spec"]["validations"])
    assert len({row.policy for row in SAID_BY_ADMISSION}) == validations
