"""The command `guard` as a process: what it is told by the plan, what it costs, how it ends."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.serving import make_plan
from tests.support.stand_in_builder import Workplace, engine_request
from tests.support.stand_in_triton import quick_settings, stand_in_triton
from tests.triton.server import free_ports, http_call
from vertical_engines.commands.guard import guard_settings, run_guard
from vertical_engines.contract.build import BuildOutcome
from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.serving import PLAN_NAME, GuardSettings, ServingPlan
from vertical_engines.guard.settings import Settings
from vertical_engines.guard.sidecar import Addresses, run_sidecar
from vertical_engines.guard.watch import Refused

MEMORY_LIMIT_KIB = 64 * 1024


@pytest.fixture
def plan(tmp_path: Path) -> ServingPlan:
    return make_plan(Workplace(tmp_path).build(engine_request()), entrypoint="matching", guard=GuardSettings(lame=7.5, body_limit=123))


def test_settings_come_from_plan_and_repository(plan: ServingPlan, tmp_path: Path) -> None:
    settings = guard_settings(plan, repository=tmp_path)
    assert (settings.entrypoint, settings.model, settings.canary) == ("matching", "generator", None)
    assert (settings.lame, settings.body_limit) == (7.5, 123)
    assert (settings.triton_http_port, settings.grpc_port, settings.metrics_port) == (8010, 8001, 8002)
    (tmp_path / "matching").mkdir()
    (tmp_path / "matching" / "canary.json").write_text('{"inputs": []}')
    assert guard_settings(plan, repository=tmp_path).canary == '{"inputs": []}'


def command(config: Path, *, http: int, admin: int) -> list[str]:
    options = [
        "--config",
        str(config),
        "--repository",
        str(config),
        "--host",
        "127.0.0.1",
        "--http-port",
        str(http),
        "--admin-port",
        str(admin),
        "--termination-log",
        str(config / "termination-log"),
    ]
    return [sys.executable, "-m", "vertical_engines.cli", "guard", *options]


def test_the_process_is_small_answers_probes_and_ends_on_sigterm(plan: ServingPlan, tmp_path: Path) -> None:
    (tmp_path / PLAN_NAME).write_text(plan.to_json())
    http, admin = free_ports(2)
    process = subprocess.Popen(command(tmp_path, http=http, admin=admin), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        deadline = time.monotonic() + 20
        while http_call(f"http://127.0.0.1:{admin}/livez")[0] != 200:
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert http_call(f"http://127.0.0.1:{admin}/readyz")[0] == 503
        status, text = http_call(f"http://127.0.0.1:{http}/v2/health/ready")
        assert (status, json.loads(text)["error"]) == (503, "the model server is not there; it may be starting")
        memory = next(line for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
        assert int(memory.split()[1]) < MEMORY_LIMIT_KIB
    finally:
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "Traceback" not in output


def test_without_a_plan_it_says_so_and_ends(tmp_path: Path) -> None:
    done = subprocess.run(command(tmp_path, http=1, admin=1), capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 65
    assert "EngineRuntimeMismatch: the mounted configuration has no serving.json" in done.stdout
    assert "Traceback" not in done.stderr


async def test_a_server_that_refuses_every_canary_ends_the_sidecar() -> None:
    async with stand_in_triton() as triton:
        triton.mood = "refuse"
        with pytest.raises(Refused, match="name: Field required"):
            await asyncio.wait_for(
                run_sidecar(quick_settings(triton), addresses=Addresses(host="127.0.0.1", http_port=0, admin_port=0)), 10
            )


@pytest.mark.parametrize(
    ("own", "reason", "words"),
    [
        (True, Reason.PIPELINE_INVALID, "model matching is loaded, but does not answer its own canary.json: HTTP 400: no TXT; correct"),
        (False, Reason.VERIFICATION_FAILED, "model generator is loaded, but does not answer a prompt of one word: HTTP 400: no TXT"),
    ],
)
def test_the_last_words_say_what_the_server_refuses(
    plan: ServingPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: bool, reason: Reason, words: str
) -> None:
    async def refuse(_settings: Settings, *, addresses: Addresses) -> None:
        raise Refused(f"HTTP 400: no {addresses.host}")

    monkeypatch.setattr("vertical_engines.commands.guard.run_sidecar", refuse)
    (tmp_path / PLAN_NAME).write_text(plan.to_json())
    if own:
        (tmp_path / "matching").mkdir()
        (tmp_path / "matching" / "canary.json").write_text('{"inputs": []}')
    log = tmp_path / "termination-log"
    assert (
        run_guard(config=tmp_path, repository=tmp_path, addresses=Addresses(host="TXT", http_port=0, admin_port=0), termination_log=log)
        == 65
    )
    outcome = BuildOutcome.from_termination_message(log.read_text())
    assert outcome is not None
    assert outcome.failure is not None
    assert outcome.failure.reason is reason
    assert words in outcome.failure.message


def test_the_sidecar_itself_needs_the_standard_library_only() -> None:
    script = "import sys; before = set(sys.modules); import vertical_engines.guard.sidecar; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30)
    imported = {name.split(".")[0] for name in done.stdout.split()}
    assert imported - sys.stdlib_module_names == {"vertical_engines"}
