"""The chart as real Helm renders it: definitions, the pod's security, settings, and rights that are sufficient and minimal."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.simulation.scenarios import SCENARIOS
from tests.simulation.services import NAMESPACE, SHARED_STORE, claim, service
from tests.simulation.world import World
from vertical_operator.kube.kinds import RESOURCES
from vertical_operator.runtime.settings import RuntimeSettings
from vertical_operator.runtime.toolchains import read_toolchains
from vertical_operator.runtime.watch import CHILDREN, PARENTS

PROJECT = Path(__file__).parents[2]
CHART = PROJECT / "charts" / "vertical-operator"
SHAPES = sorted((CHART / "ci").glob("*.yaml"))
ADDITIONS = CHART / "ci" / "toolchains-values.yaml"
POLICY = "ValidatingAdmissionPolicy"

Render = Callable[..., dict[tuple[str, str], dict[str, Any]]]
Helm = Callable[..., subprocess.CompletedProcess[str]]
Right = tuple[str, str, str]
"""API group, resource, verb."""


def container(objects: dict[tuple[str, str], dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = objects["Deployment", "vertical-operator"]["spec"]["template"]["spec"]["containers"][0]
    return found


def environment(objects: dict[tuple[str, str], dict[str, Any]]) -> dict[str, str]:
    return {variable["name"]: variable.get("value", "from the pod") for variable in container(objects)["env"]}


@pytest.mark.parametrize("shape", [None, *SHAPES], ids=lambda path: path.stem if path else "default")
def test_lint_finds_nothing(helm: Helm, shape: Path | None) -> None:
    result = helm("lint", "--strict", "--kube-version", "1.34.0", str(CHART), *(["-f", str(shape)] if shape else []))
    assert result.returncode == 0, result.stdout + result.stderr


def test_definitions_are_the_committed_ones_and_stay_at_uninstall(render: Render) -> None:
    committed = {
        body["metadata"]["name"]: body for body in (yaml.safe_load(path.read_text()) for path in (PROJECT / "crds").glob("*.yaml"))
    }
    rendered = {name: body for (kind, name), body in render().items() if kind == "CustomResourceDefinition"}
    for body in rendered.values():
        assert body["metadata"].pop("annotations") == {"helm.sh/resource-policy": "keep"}
    assert rendered == committed
    loose = render("--set", "crds.keep=false")
    assert all("annotations" not in body["metadata"] for (kind, _), body in loose.items() if kind == "CustomResourceDefinition")
    assert not any(kind == "CustomResourceDefinition" for kind, _ in render("--set", "crds.enabled=false"))


def test_a_typo_in_values_fails(helm: Helm) -> None:
    result = helm("template", "x", str(CHART), "--kube-version", "1.34.0", "--set", "replcias=2")
    assert result.returncode != 0
    assert "replcias" in result.stderr


def test_the_pod_is_restricted(render: Render) -> None:
    pod = render()["Deployment", "vertical-operator"]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    security = pod["containers"][0]["securityContext"]
    assert security == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    assert "limits" in pod["containers"][0]["resources"]


def test_the_process_understands_every_setting_of_the_chart(render: Render) -> None:
    settings = RuntimeSettings.from_environment(environment(render("-f", str(SHAPES[0]))))
    values = yaml.safe_load(SHAPES[0].read_text())
    assert list(settings.watch_namespaces) == values["watchNamespaces"]
    assert settings.toolchain_images == values["toolchainImages"]
    assert settings.image_registry == values["imageRegistry"]
    sources = values["modelSources"]
    roads = [settings.hub_endpoint, settings.model_proxy, settings.model_no_proxy]
    assert roads == [sources[name] for name in ("hubEndpoint", "proxy", "noProxy")]
    assert settings.offline is True
    assert set(environment(render("-f", str(SHAPES[0])))) <= {f"OPERATOR_{name.upper()}" for name in RuntimeSettings.model_fields}


def test_a_digest_wins_over_the_tag(render: Render) -> None:
    digest = "sha256:" + "1" * 64
    assert container(render("--set", f"image.digest={digest}"))["image"] == f"vertical-operator@{digest}"
    assert container(render("--set", "image.tag=1.2.3"))["image"] == "vertical-operator:1.2.3"


def rights(rules: list[dict[str, Any]]) -> set[Right]:
    return {
        (group, resource, verb) for rule in rules for group in rule["apiGroups"] for resource in rule["resources"] for verb in rule["verbs"]
    }


def right(kind: str, verb: str, *, subresource: str = "") -> Right:
    group, _, _ = RESOURCES[kind].api_version.rpartition("/")
    return group, RESOURCES[kind].plural + (f"/{subresource}" if subresource else ""), verb


VERBS = {"get": ["get"], "list": ["list"], "apply": ["create", "patch"], "delete": ["delete"]}


async def used_rights() -> set[Right]:
    """What the operator asks for in every scenario of the simulation, what its watches need, and the Events that it writes."""
    worlds = []
    for scenario in SCENARIOS:
        world = World()
        scenario.start(world)
        await world.settle()
        scenario.act(world)
        await world.settle()
        worlds.append(world)
    worlds.append(gpu := World())
    gpu.cluster.create(claim())
    gpu.apply(on_gpu())
    await gpu.settle()
    worlds.append(rescheduled := World())
    rescheduled.controllers.builds_end = False
    rescheduled.apply(service())
    await rescheduled.settle()
    rescheduled.change("VerticalService", NAMESPACE, "poi-matching", change=place_elsewhere)
    await rescheduled.settle()
    used = {right(kind, verb) for kind in (*PARENTS, *CHILDREN) for verb in ("list", "watch")}
    used |= {right("Event", verb) for verb in ("create", "patch")}
    for request in (request for world in worlds for request in world.cluster.requests):
        if request.verb == "patch_status":
            used.add(right(request.kind, "patch", subresource="status"))
        else:
            used |= {right(request.kind, verb) for verb in VERBS[request.verb]}
    return used


def place_elsewhere(body: dict[str, Any]) -> None:
    """Jobs can't be changed: a build that runs with other scheduling is deleted and made anew."""
    for variant in body["spec"]["variants"]:
        variant["placements"][0]["nodeSelector"] = {"pool": "large"}


def on_gpu() -> dict[str, Any]:
    body = service(store=SHARED_STORE)
    body["spec"]["variants"][0]["placements"][0]["accelerator"] = {"product": "Tesla-T4", "count": 1}
    return body


async def test_rights_are_sufficient_and_minimal(render: Render) -> None:
    given = rights(render()["ClusterRole", "vertical-operator-cluster"]["rules"])
    used = await used_rights()
    assert used - given == set(), "missing: the operator would be refused"
    assert given - used == set(), "not used by anything that the operator does"
    assert not any("*" in part for entry in given for part in entry)


def test_in_namespace_mode_only_nodes_and_namespaces_are_read_across_the_cluster(render: Render) -> None:
    objects = render("-f", str(SHAPES[0]))
    everywhere = rights(objects["ClusterRole", "vertical-operator-cluster"]["rules"])
    assert everywhere == {("", "nodes", "list"), ("", "namespaces", "get")}
    whole = rights(render()["ClusterRole", "vertical-operator-cluster"]["rules"])
    for namespace in yaml.safe_load(SHAPES[0].read_text())["watchNamespaces"]:
        assert rights(objects["Role", f"{namespace}/vertical-operator"]["rules"]) | everywhere == whole
        binding = objects["RoleBinding", f"{namespace}/vertical-operator"]
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "vertical-operator", "namespace": "operators"}]


def test_the_lease_is_the_one_that_the_process_asks_for(render: Render) -> None:
    objects = render()
    rules = objects["Role", "vertical-operator-lease"]["rules"]
    assert rights(rules) == {("coordination.k8s.io", "leases", verb) for verb in ("create", "get", "update")}
    assert rules[1]["resourceNames"] == [environment(objects)["OPERATOR_LEASE_NAME"]]


def test_notes_name_commands_that_fit_the_release(helm: Helm) -> None:
    notes = (CHART / "templates" / "NOTES.txt").read_text()
    assert len([line for line in notes.splitlines() if line.startswith("  kubectl ")]) == 3
    assert json.loads((CHART / "values.schema.json").read_text())["additionalProperties"] is False
    assert NAMESPACE not in notes


def test_checks_of_the_api_server_are_the_generated_ones(render: Render) -> None:
    """Only names, labels and the releases that the installation adds are the chart's own."""
    objects = render()
    policy, binding = (objects[kind, "vertical-operator-checks"] for kind in (POLICY, f"{POLICY}Binding"))
    committed, tie = yaml.safe_load_all((CHART / "files" / "admission-policy.yaml").read_text())
    assert (policy["spec"], binding["spec"]) == (committed["spec"], {**tie["spec"], "policyName": "vertical-operator-checks"})
    assert not any(kind.startswith(POLICY) for kind, _ in render("--set", "admissionPolicy.enabled=false"))
    old = render("--kube-version", "1.29.0")
    assert not any(kind.startswith(POLICY) for kind, _ in old), "the server has no such kind"


def test_checks_follow_what_the_installation_watches_and_adds(render: Render) -> None:
    watched = next(path for path in SHAPES if path.stem.startswith("namespaced"))
    binding = render("-f", str(watched))[f"{POLICY}Binding", "vertical-operator-checks"]
    names = binding["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"][0]["values"]
    assert names == yaml.safe_load(watched.read_text())["watchNamespaces"]
    policy = render("-f", str(ADDITIONS))[POLICY, "vertical-operator-checks"]
    assert policy["spec"]["variables"][0] == {"name": "added", "expression": '["TensorRTLLM/26.06-site"]'}


def test_toolchains_of_the_installation_reach_the_process(render: Render, tmp_path: Path) -> None:
    objects = render("-f", str(ADDITIONS))
    config_map = objects["ConfigMap", "vertical-operator-toolchains"]
    pod = objects["Deployment", "vertical-operator"]["spec"]["template"]
    file = Path(environment(objects)["OPERATOR_TOOLCHAINS_FILE"])
    mounted = next(entry for entry in container(objects)["volumeMounts"] if entry["name"] == "toolchains")
    volume = next(entry for entry in pod["spec"]["volumes"] if entry["name"] == "toolchains")
    assert (str(file.parent), volume["configMap"]["name"]) == (mounted["mountPath"], config_map["metadata"]["name"])
    (tmp_path / file.name).write_text(config_map["data"][file.name])
    known = read_toolchains(str(tmp_path / file.name))
    assert known.release(backend="TensorRTLLM", name="26.06-site")
    assert known.gpu("NVIDIA-X9000")
    digest = pod["metadata"]["annotations"]["serving.vertical-operator.io/toolchains-digest"]
    other = render("-f", str(ADDITIONS), "--set", "extraToolchains.gpus.NVIDIA-X9000.memory=1024")
    assert other["Deployment", "vertical-operator"]["spec"]["template"]["metadata"]["annotations"] != {
        "serving.vertical-operator.io/toolchains-digest": digest
    }, "it is read at the start: other content, another pod"
