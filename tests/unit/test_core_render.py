"""Renderers are total and deterministic over valid specs, and every pod passes Pod Security `restricted`."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.live import as_engine
from tests.support.objects import BUILD, PAGED, VARIANT, service
from vertical_engines.contract.build import BuildOutcome, BuildRequest
from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.serving import ServingPlan
from vertical_operator.api.v1alpha1 import Engine, VerticalService, parse
from vertical_operator.core.intents import Manifest
from vertical_operator.core.offline import Refused, children
from vertical_operator.core.render.build_job import CHECK_SCRIPT, build_job
from vertical_operator.core.render.pod import COPY_SCRIPT
from vertical_operator.core.render.remove_job import remove_job
from vertical_operator.core.settings import OperatorSettings

PLACEMENT = f"{VARIANT}.placements.0"
WORD = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,18}[a-z0-9])?", fullmatch=True)
QUANTITIES = st.dictionaries(st.sampled_from(["cpu", "memory"]), st.sampled_from([1, "500m", "1Gi"]), max_size=2)
BACKENDS = [{"backend": "OpenVINO", "release": "2026.4"}, {"backend": "TensorRTLLM", "release": "24.09"}]


@st.composite
def placements(draw: st.DrawFn, name: str) -> Manifest:
    made: Manifest = {"name": name, "replicas": draw(st.integers(0, 1000))}
    if draw(st.booleans()):
        made["accelerator"] = {"product": draw(st.sampled_from(["Tesla-T4", "NVIDIA-L4"])), "count": draw(st.integers(1, 8))}
    if draw(st.booleans()):
        made["toolchain"] = draw(st.sampled_from(BACKENDS))
    if draw(st.booleans()):
        made["resources"] = {"requests": draw(QUANTITIES), "limits": draw(QUANTITIES)}
    if draw(st.booleans()):
        made["tolerations"] = [{"operator": "Exists"}]
        made["nodeSelector"] = {"pool": draw(WORD)}
    return made


@st.composite
def variants(draw: st.DrawFn, name: str) -> Manifest:
    paged = draw(st.booleans())
    config: Manifest = {"max_input_len": draw(st.integers(1, 4096)), "max_batch_size": draw(st.integers(1, 64))}
    config["max_output_len"] = draw(st.integers(1, 4096))
    config["plugin_config"] = {"paged_kv_cache": paged, "gemm_plugin": draw(st.sampled_from(["auto", "float16", True, 3, "$$(HOME)"]))}
    names = draw(st.lists(WORD, min_size=1, max_size=3, unique=True))
    made = {"name": name, "buildConfig": config, "placements": [draw(placements(each)) for each in names]}
    if draw(st.booleans()):
        made["responseCache"] = {"size": "64Mi", "models": ["generator"]}
    if paged and draw(st.booleans()):
        made["prefixCache"] = {"enabled": True}
    return made


@st.composite
def services(draw: st.DrawFn) -> Manifest:
    content = service(("spec.toolchain", draw(st.sampled_from(BACKENDS))))
    content["metadata"]["name"] = draw(st.from_regex(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?", fullmatch=True))
    content["spec"]["model"]["revision"] = draw(st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), max_size=20))
    names = draw(st.lists(WORD, min_size=1, max_size=3, unique=True))
    content["spec"]["variants"] = [draw(variants(name)) for name in names]
    return content


def rendered(content: Manifest) -> tuple[Manifest, ...] | Reason:
    try:
        return children(parse(VerticalService, content), OperatorSettings())
    except Refused as refused:
        return refused.reason


def template(manifest: Manifest) -> Manifest:
    found: Manifest = manifest["spec"]["template"]
    return found


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(services())
def test_any_valid_spec_renders_or_is_refused_with_a_reason(content: Manifest) -> None:
    first = rendered(content)
    assert first == rendered(content)
    if isinstance(first, Reason):
        return
    identities = [(m["kind"], m["metadata"]["name"]) for m in first]
    assert len(set(identities)) == len(identities)
    assert all(len(name) <= 63 for _, name in identities)
    for manifest in first:
        if manifest["kind"] == "Engine":
            engine = parse(Engine, manifest)
            assert engine.spec.identity.key() == engine.spec.key, "the key must survive the road through the API server"
        if manifest["kind"] == "ConfigMap":
            ServingPlan.model_validate_json(manifest["data"]["serving.json"])


def test_the_request_arrives_as_it_was_sent() -> None:
    """The kubelet turns $$ into $ and replaces $(NAME): text of the user must come out unchanged."""
    content = service(("spec.model.revision", "costs $5, $(HOME), $$"))
    job = next(m for m in rendered(content) if isinstance(m, dict) and m["kind"] == "Job")
    sent = template(job)["spec"]["containers"][0]["env"][0]["value"]
    assert "$" not in sent.replace("$$", "")
    request = BuildRequest.model_validate_json(sent.replace("$$", "$"))
    assert request.identity.revision == "costs $5, $(HOME), $$"
    assert request.identity.key() == request.key


def test_replicas_do_not_touch_the_pod_template() -> None:
    one, nine = (rendered(service((f"{PLACEMENT}.replicas", count))) for count in (1, 9))
    workloads = [next(m for m in found if isinstance(m, dict) and m["kind"] == "Deployment") for found in (one, nine)]
    assert template(workloads[0]) == template(workloads[1])
    assert [w["spec"]["replicas"] for w in workloads] == [1, 9]
    assert workloads[0]["metadata"]["annotations"] != workloads[1]["metadata"]["annotations"], "the intent tells that an apply is due"


def pod_specs() -> list[Any]:
    content = service(PAGED, (f"{PLACEMENT}.tolerations", [{"key": "a"}]), ("spec.imagePullSecrets", [{"name": "registry"}]))
    manifests = [m for m in rendered(content) if isinstance(m, dict)]
    engine = as_engine(next(m for m in manifests if m["kind"] == "Engine"))
    found = [m for m in manifests if m["kind"] in ("Job", "Deployment")] + [remove_job(engine, OperatorSettings())]
    return [pytest.param(template(m)["spec"], id=m["metadata"]["name"]) for m in found]


@pytest.mark.parametrize("spec", pod_specs())
def test_pods_are_restricted(spec: Manifest) -> None:
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "runAsGroup": 1000,
        "fsGroup": 1000,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    volumes = {volume["name"] for volume in spec["volumes"]}
    for container in [*spec.get("initContainers", []), *spec["containers"]]:
        context = container["securityContext"]
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert context["readOnlyRootFilesystem"] is True
        assert {mount["name"] for mount in container["volumeMounts"]} <= volumes


def test_a_gpu_placement_asks_for_its_gpu_everywhere() -> None:
    t4 = (f"{PLACEMENT}.accelerator", {"product": "Tesla-T4", "count": 2})
    manifests = [m for m in rendered(service(t4, ("spec.toolchain", BACKENDS[1]))) if isinstance(m, dict)]
    for manifest in (m for m in manifests if m["kind"] in ("Job", "Deployment")):
        spec = template(manifest)["spec"]
        assert spec["nodeSelector"] == {"nvidia.com/gpu.product": "Tesla-T4"}
        assert {"key": "nvidia.com/gpu", "operator": "Exists"} in spec["tolerations"]
        assert spec["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == 2


def test_a_model_in_a_claim_is_read_in_place() -> None:
    source = {"persistentVolumeClaim": {"claimName": "models", "path": "a/b"}}
    engine = as_engine(next(m for m in rendered(service(("spec.model.source", source))) if isinstance(m, dict) and m["kind"] == "Engine"))
    spec = template(build_job(engine, OperatorSettings()))["spec"]
    assert {"name": "model", "persistentVolumeClaim": {"claimName": "models", "readOnly": True}} in spec["volumes"]
    assert "/model/a/b" in spec["containers"][0]["command"]


def test_triton_gets_a_cache_only_when_one_is_asked_for() -> None:
    def command(*changes: tuple[str, Any]) -> str:
        workload = next(m for m in rendered(service(*changes)) if isinstance(m, dict) and m["kind"] == "Deployment")
        return " ".join(template(workload)["spec"]["containers"][0]["command"])

    assert "--cache-config" not in command()
    assert "--cache-config=local,size=67108864 " in command((f"{VARIANT}.responseCache", {"size": "64Mi", "models": ["generator"]}))


def shell(script: str, *arguments: str, folder: Path) -> tuple[int, BuildOutcome | None, str]:
    """Run a container's script with this machine's programs in place of busybox."""
    log = folder / "termination-log"
    applets = folder / "busybox"
    applets.write_text('#!/bin/sh\nexec "$@"\n')
    applets.chmod(0o755)
    text = script.replace("/dev/termination-log", str(log)).replace("/bin/busybox", str(applets))
    done = subprocess.run(["sh", "-c", text, str(applets), *arguments], capture_output=True, text=True, check=False)
    words = log.read_text() if log.exists() else ""
    return done.returncode, BuildOutcome.from_termination_message(words), done.stderr


def test_copying_a_folder(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "inner").mkdir(parents=True)
    (source / "inner" / "file").write_text("x")
    target.mkdir()
    assert shell(COPY_SCRIPT, str(source), str(target), "PipelineInvalid", "pipeline image", folder=tmp_path)[0] == 0
    assert (target / "inner" / "file").read_text() == "x"


def test_copying_what_is_not_there_says_what_is(tmp_path: Path) -> None:
    (tmp_path / "models" / 'odd"name\\').mkdir(parents=True)
    (tmp_path / "models" / "small").mkdir()
    wanted = str(tmp_path / "models" / "large" / "deep")
    code, outcome, _ = shell(COPY_SCRIPT, wanted, str(tmp_path), "ModelNotFound", "model image", folder=tmp_path)
    assert code == 65
    assert outcome is not None
    assert outcome.failure is not None
    assert outcome.failure.reason is Reason.MODEL_NOT_FOUND
    assert f"model image has no {wanted}; {tmp_path / 'models'} holds: oddname small" in outcome.failure.message


def test_checking_a_claim(tmp_path: Path) -> None:
    (tmp_path / "model" / "small").mkdir(parents=True)
    there, missing = str(tmp_path / "model" / "small"), str(tmp_path / "model" / "large")
    assert shell(CHECK_SCRIPT, there, "models", "small", folder=tmp_path)[0] == 0
    code, outcome, _ = shell(CHECK_SCRIPT, missing, "models", "large", folder=tmp_path)
    assert code == 65
    assert outcome is not None
    assert outcome.failure is not None
    assert "claim models has no large; it holds: small" in outcome.failure.message


def test_build_flags_are_enforced_when_serving() -> None:
    config = next(m for m in rendered(service((f"{BUILD}.max_batch_size", 3), PAGED)) if isinstance(m, dict) and m["kind"] == "ConfigMap")
    text = config["data"]["generator.config.pbtxt"]
    for key, value in {"max_live_requests": "3", "max_input_len": "256", "max_output_len": "16", "style": "inflight"}.items():
        assert f'key: "{key}"\n  value {{\n    string_value: "{value}"' in text


def test_openvino_settings_reach_the_model_and_leave_the_engine_alone() -> None:
    def rendered_config(*changes: tuple[str, Any]) -> tuple[str, str]:
        found = children(parse(VerticalService, service(("spec.model.weights", "float16"), *changes)), OperatorSettings())
        (config,) = [child["data"]["generator.config.pbtxt"] for child in found if child["kind"] == "ConfigMap"]
        (engine,) = [child["spec"]["key"] for child in found if child["kind"] == "Engine"]
        return config, engine

    def parameter(name: str, value: str) -> str:
        return f'key: "{name}"\n  value {{\n    string_value: "{value}"'

    plain, key = rendered_config()
    config, same = rendered_config((f"{VARIANT}.openvino", {"kvCachePrecision": "u8", "threads": 2, "compiledCache": False}))
    assert same == key
    assert all(parameter(*pair) in config for pair in (("kv_cache_precision", "u8"), ("threads", "2"), ("compiled_cache", "false")))
    assert "kv_cache_precision" not in plain
    assert "inference_precision" not in config
    deterministic, same = rendered_config((f"{VARIANT}.openvino", {"profile": "Deterministic"}))
    assert same == key
    fixed = (("inference_precision", "f32"), ("kv_cache_precision", "f32"), ("dynamic_quantization_group_size", "0"))
    assert all(parameter(*pair) in deterministic for pair in fixed)
