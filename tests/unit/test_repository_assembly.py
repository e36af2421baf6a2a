"""A pod's model repository: what stands in it after the command, and which pipeline images are turned away with which words."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from google.protobuf import text_format
from tritonclient.grpc.model_config_pb2 import ModelConfig

from tests.support.serving import MODEL, assemble, make_config, make_places, make_plan
from tests.support.stand_in_builder import Workplace, engine_request
from vertical_engines.commands.assemble import run_assemble
from vertical_engines.contract.build import BuildOutcome
from vertical_engines.contract.engine import Accelerator
from vertical_engines.contract.manifest import Manifest
from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.serving import PLAN_NAME
from vertical_engines.repository.assembly import Places

ENTRY = "matching"
ENTRY_CONFIG = """
name: "matching"
backend: "python"
max_batch_size: 0
input { name: "text" data_type: TYPE_STRING dims: 1 }
output { name: "answer" data_type: TYPE_STRING dims: 1 }
parameters { key: "threshold" value { string_value: "0.5" } }
instance_group { count: 4 }
"""


class Pod:
    """The folders of a pod with one good entry model, and an engine in its store."""

    def __init__(self, folder: Path) -> None:
        self._workplace = Workplace(folder)
        self.manifest: Manifest = self._workplace.build(engine_request())
        self.store = self._workplace.root
        self.places: Places = make_places(folder / "pod")
        self.entry = self.places.pipeline / ENTRY
        (self.entry / "1").mkdir(parents=True)
        (self.entry / "1" / "model.py").write_text("print('entry')\n")
        (self.entry / "config.pbtxt").write_text(ENTRY_CONFIG)

    def assemble(self, **changes: object) -> tuple[int, str]:
        plan = make_plan(self.manifest, **{"entrypoint": ENTRY, **changes})
        return assemble(plan, make_config(self.manifest, store=self.store), places=self.places, store=self.store)

    def refusal(self, **changes: object) -> tuple[Reason, str]:
        code, message = self.assemble(**changes)
        assert code == 65
        outcome = BuildOutcome.from_termination_message(message)
        assert outcome is not None
        assert outcome.failure is not None
        return outcome.failure.reason, outcome.failure.message

    def config(self, model: str) -> ModelConfig:
        return text_format.Parse((self.places.repository / model / "config.pbtxt").read_text(), ModelConfig())

    def files(self) -> dict[str, str]:
        return {
            str(path.relative_to(self.places.repository.parent)): path.read_text()
            for folder in (self.places.repository, self.places.python)
            for path in folder.rglob("*")
            if path.is_file()
        }


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    return Pod(tmp_path)


def test_the_repository_holds_pipeline_and_slm_and_nothing_else(pod: Pod) -> None:
    package = pod.places.pipeline / "python" / "matching_rules"
    (package / "__pycache__").mkdir(parents=True)
    (package / "__init__.py").write_text("RULES = 1\n")
    (package / "__pycache__" / "old.pyc").write_text("stale")
    (pod.places.pipeline / "README.md").write_text("not a model")
    assert pod.assemble(model_version=77) == (0, "")
    assert set(pod.files()) == {
        "repository/matching/config.pbtxt",
        "repository/matching/1/model.py",
        f"repository/{MODEL}/config.pbtxt",
        f"repository/{MODEL}/77/model.py",
        "python/matching_rules/__init__.py",
    }
    assert "from vertical_engines.models.openvino_generator import TritonPythonModel" in pod.files()[f"repository/{MODEL}/77/model.py"]


def test_only_what_the_operator_owns_is_changed_in_a_config(pod: Pod) -> None:
    assert pod.assemble(parameters={"threshold": "0.9", "region": "seoul"}) == (0, "")
    wanted = text_format.Parse(ENTRY_CONFIG, ModelConfig())
    wanted.parameters["threshold"].string_value = "0.9"
    wanted.parameters["region"].string_value = "seoul"
    assert pod.config(ENTRY) == wanted
    assert "region" not in pod.config(MODEL).parameters


def test_the_slm_gets_its_sequence_limit_and_cache(pod: Pod) -> None:
    assert pod.assemble(response_cache_models=[MODEL]) == (0, "")
    assert pod.config(MODEL).response_cache.enable
    assert not pod.config(ENTRY).response_cache.enable
    assert pod.config(MODEL).parameters["max_seq_len"].string_value == "544"


def test_a_second_run_gives_the_same_and_removes_what_a_first_one_left(pod: Pod) -> None:
    assert pod.assemble() == (0, "")
    before = pod.files()
    (pod.places.repository / "half-written" / "1").mkdir(parents=True)
    (pod.places.python / "old.py").write_text("")
    assert pod.assemble() == (0, "")
    assert pod.files() == before


def test_a_pipeline_may_be_nothing_but_the_slm(pod: Pod) -> None:
    pod.places.pipeline.rename(pod.places.pipeline.with_name("elsewhere"))
    assert pod.assemble(entrypoint=MODEL) == (0, "")
    assert [path.name for path in pod.places.repository.iterdir()] == [MODEL]


def test_a_link_within_the_tree_becomes_a_file(pod: Pod) -> None:
    (pod.places.pipeline / "python").mkdir()
    (pod.places.pipeline / "python" / "shared.py").write_text("SHARED = 1\n")
    (pod.entry / "1" / "shared.py").symlink_to("../../python/shared.py")
    assert pod.assemble() == (0, "")
    copy = pod.places.repository / ENTRY / "1" / "shared.py"
    assert not copy.is_symlink()
    assert copy.read_text() == "SHARED = 1\n"


def outside_link(pod: Pod) -> None:
    (pod.entry / "1" / "weights").symlink_to("/etc")


def dangling_link(pod: Pod) -> None:
    (pod.entry / "1" / "weights").symlink_to("nowhere")


def circular_link(pod: Pod) -> None:
    (pod.entry / "1" / "again").symlink_to("..")


def slm_name(pod: Pod) -> None:
    pod.entry.with_name(MODEL).mkdir()


def no_entry(pod: Pod) -> None:
    pod.entry.rename(pod.entry.with_name("other"))
    (pod.entry.with_name("other") / "config.pbtxt").write_text(ENTRY_CONFIG.replace(ENTRY, "other"))


def no_config(pod: Pod) -> None:
    (pod.entry / "config.pbtxt").unlink()


def no_version(pod: Pod) -> None:
    (pod.entry / "1").rename(pod.entry / "v1")


def bad_field(pod: Pod) -> None:
    (pod.entry / "config.pbtxt").write_text('name: "matching"\nmax_batchsize: 3\n')


def bad_enum(pod: Pod) -> None:
    (pod.entry / "config.pbtxt").write_text('input { name: "x" data_type: TYPE_STRONG dims: 1 }\n')


def other_name(pod: Pod) -> None:
    (pod.entry / "config.pbtxt").write_text('name: "matcher"\n')


def placeholder(pod: Pod) -> None:
    (pod.entry / "config.pbtxt").write_text('name: "matching"\nmax_batch_size: ${triton_max_batch_size}\n')


def shadowing(pod: Pod) -> None:
    (pod.places.pipeline / "python").mkdir()
    (pod.places.pipeline / "python" / "triton_python_backend_utils.py").write_text("")


def canary_text(pod: Pod) -> None:
    (pod.entry / "canary.json").write_text("{'inputs': []}")


def canary_shape(pod: Pod) -> None:
    (pod.entry / "canary.json").write_text('["inputs"]')


INVALID: dict[str, tuple[Callable[[Pod], None], str]] = {
    "a link out of the tree": (
        outside_link,
        "matching/1/weights in the pipeline image is a link to /etc, outside of spec.pipeline.image.path",
    ),
    "a link to nothing": (dangling_link, "matching/1/weights in the pipeline image is a link to nowhere, which does not exist"),
    "a link to its own folder": (
        circular_link,
        "matching/1/again in the pipeline image is a link to .., a folder that holds the link itself",
    ),
    "a model named like the SLM": (slm_name, "it has a model generator, the name of the SLM"),
    "no entry point": (no_entry, "it has no model matching, the entry point; there is other"),
    "no config": (no_config, "matching has no config.pbtxt; it holds 1"),
    "no version folder": (no_version, "matching has no version folder such as matching/1; it holds config.pbtxt, v1"),
    "an unknown field": (bad_field, "matching/config.pbtxt:2:1 : "),
    "an unknown type": (bad_enum, "matching/config.pbtxt:1:"),
    "another name": (other_name, "matching/config.pbtxt names the model matcher, its folder is matching"),
    "a placeholder": (placeholder, "matching/config.pbtxt:2:17 : a placeholder is not filled in: max_batch_size: ${triton_max_batch_size}"),
    "a module that hides Triton's": (shadowing, "python/triton_python_backend_utils would hide Triton's own module"),
    "a canary that is no JSON": (canary_text, "matching/canary.json is not JSON"),
    "a canary that is no request": (canary_shape, "matching/canary.json is no inference request"),
}


@pytest.mark.parametrize("case", INVALID)
def test_an_invalid_pipeline_is_refused_in_words(pod: Pod, case: str) -> None:
    spoil, words = INVALID[case]
    spoil(pod)
    reason, message = pod.refusal()
    assert reason is Reason.PIPELINE_INVALID
    assert words in message


CONFLICTS = {
    "the entry point": ([ENTRY], "", "responseCache.models names matching: it is the entry point"),
    "a decoupled model": (["other"], "model_transaction_policy { decoupled: true }", "other: it is decoupled"),
    "a sequence model": (["other"], "sequence_batching { }", "other: it keeps sequences"),
    "a model that is not there": (["encoder"], "", "responseCache.models names encoder; there is matching, other, generator"),
}


@pytest.mark.parametrize("case", CONFLICTS)
def test_a_response_cache_that_can_not_work_is_refused(pod: Pod, case: str) -> None:
    models, extra, words = CONFLICTS[case]
    other = pod.entry.with_name("other")
    (other / "1").mkdir(parents=True)
    (other / "config.pbtxt").write_text(ENTRY_CONFIG.replace(ENTRY, "other") + extra)
    reason, message = pod.refusal(response_cache_models=models)
    assert reason is Reason.RESPONSE_CACHE_CONFLICT
    assert words in message


def test_an_engine_that_is_not_there_or_damaged_is_named(pod: Pod) -> None:
    assert pod.refusal(engine_key="0" * 64)[0] is Reason.ENGINE_MISSING
    file = pod.manifest.files[0]
    (pod.store / pod.manifest.key / file.path).write_text("x" * (file.size + 1))
    assert pod.refusal()[0] is Reason.ENGINE_CORRUPT


def test_an_engine_of_another_runtime_or_gpu_is_refused_before_triton_tries(pod: Pod) -> None:
    toolchain = pod.manifest.identity.toolchain
    reason, message = pod.refusal(toolchain=toolchain.model_copy(update={"release": "2027.1"}))
    assert reason is Reason.ENGINE_RUNTIME_MISMATCH
    assert message == f"engine {pod.manifest.key[:10]} has release 2026.4, this pod has 2027.1"
    assert pod.refusal(toolchain=toolchain.model_copy(update={"image": "other:1"}))[0] is Reason.ENGINE_RUNTIME_MISMATCH
    build = pod.manifest.identity.build.model_copy(update={"max_input_len": 4096})
    assert pod.refusal(build=build)[0] is Reason.ENGINE_RUNTIME_MISMATCH
    reason, message = pod.refusal(gpu_product=Accelerator(product="Tesla-T4").product)
    assert reason is Reason.ENGINE_GPU_MISMATCH
    assert message == f"engine {pod.manifest.key[:10]} was built for CPU, placement cpu is Tesla-T4"


def test_a_plan_of_another_release_is_refused_in_words(pod: Pod) -> None:
    assert pod.assemble() == (0, "")
    plan = pod.places.config / PLAN_NAME
    plan.write_text(json.dumps({**json.loads(plan.read_text()), "novelty": 1}))
    log = plan.with_name("log")
    assert run_assemble(places=pod.places, store=pod.store, termination_log=log) == 65
    outcome = BuildOutcome.from_termination_message(log.read_text())
    assert outcome is not None
    assert outcome.failure is not None
    assert "can't read the operator's plan: novelty" in outcome.failure.message


def test_a_byte_altered_in_place_is_noticed(pod: Pod) -> None:
    """Same size, same time of change: only the digest tells."""
    weights = pod.store / pod.manifest.key / "weights.bin"
    before = weights.stat()
    weights.write_bytes(b"W" + weights.read_bytes()[1:])
    os.utime(weights, ns=(before.st_atime_ns, before.st_mtime_ns))
    reason, message = pod.refusal()
    assert reason is Reason.ENGINE_CORRUPT
    assert "weights.bin has another sha256 than when it was built" in message
