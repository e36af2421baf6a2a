"""Configuration of a native cluster, choice of the provider, fake nodes, and forwarding: what needs no root."""

import asyncio
import json
import os
import socket
import threading
from pathlib import Path

import pytest

from tests.cluster import provider
from tests.cluster.audit import parse
from tests.cluster.errors import ClusterError
from tests.cluster.fake_gpus import A100, FAKE, T4, gpu_node
from tests.cluster.faults import _octets
from tests.cluster.locations import state_folder
from tests.cluster.native import configuration, machine
from tests.cluster.native.forwarder import serve
from tests.cluster.provider import ProviderName, choose


def test_every_file_that_a_daemon_names_is_written(tmp_path: Path) -> None:
    written = configuration.files(tmp_path, cni=Path("/cni"), cgroup="/vertical-x")
    for argv in configuration.daemons(port=1).values():
        for word in argv:
            if (path := word.partition("=")[2]).startswith("etc/"):
                assert path.removeprefix("etc/") in written


def test_kubelet_stays_in_the_cgroup_of_its_cluster(tmp_path: Path) -> None:
    kubelet = json.loads(configuration.files(tmp_path, cni=Path("/cni"), cgroup="/vertical-x")["kubelet.yaml"])
    assert kubelet["cgroupRoot"] == "/vertical-x"
    assert kubelet["imageGCHighThresholdPercent"] == 100


def test_api_server_listens_on_the_port_of_the_kubeconfig() -> None:
    assert "--secure-port=45123" in configuration.daemons(port=45123)["apiserver"]


def test_the_wanted_provider_is_used_whatever_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider, "container_engine", lambda: "docker")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert choose(ProviderName.NATIVE, name="new") is ProviderName.NATIVE
    assert choose(None, name="new") is ProviderName.KIND


def test_native_is_the_choice_of_root_without_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider, "container_engine", lambda: None)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("platform.system", lambda: "Linux")
    assert choose(None, name="new") is ProviderName.NATIVE


def test_a_cluster_keeps_the_provider_that_started_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one would not find its processes, and would remove its state all the same."""
    monkeypatch.setenv("VERTICAL_CACHE", str(tmp_path))
    monkeypatch.setattr(provider, "container_engine", lambda: "docker")
    (state_folder("old")).mkdir(parents=True)
    (state_folder("old") / provider.RECORD).write_text("native")
    assert choose(None, name="old") is ProviderName.NATIVE
    with pytest.raises(ClusterError, match="was started by provider native"):
        choose(ProviderName.KIND, name="old")
    assert choose(None, name="new") is ProviderName.KIND


@pytest.mark.parametrize(("system", "user"), [("Linux", 1000), ("Darwin", 0)])
def test_where_no_cluster_is_possible_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch, system: str, user: int) -> None:
    monkeypatch.setattr(provider, "container_engine", lambda: None)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr("platform.system", lambda: system)
    with pytest.raises(ClusterError, match=r"(?s)no container engine answers.*start Docker or Podman, or run as root on Linux"):
        choose(None, name="new")


def test_a_client_without_an_engine_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = tmp_path / "docker"
    client.write_text("#!/bin/sh\nexit 1\n")
    client.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert provider.container_engine() is None
    client.write_text("#!/bin/sh\nexit 0\n")
    assert provider.container_engine() == "docker"


def test_fake_nodes_carry_the_labels_and_the_taint_of_real_ones() -> None:
    node = gpu_node("gpu-0", T4)
    assert node["metadata"]["labels"]["nvidia.com/gpu.product"] == "Tesla-T4"
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "4"
    assert node["spec"]["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    assert node["metadata"]["annotations"] == FAKE
    assert gpu_node("gpu-1", A100)["metadata"]["labels"]["nvidia.com/gpu.compute.major"] == "8"


@pytest.mark.parametrize(("size", "octets"), [("4Mi", 4 << 20), ("1Gi", 1 << 30), ("512Ki", 512 << 10), ("1000", 1000)])
def test_sizes(size: str, octets: int) -> None:
    assert _octets(size) == octets


def test_audit_lines_name_who_wrote_what() -> None:
    line = {
        "user": {"username": "system:serviceaccount:vertical-operator:vertical-operator"},
        "verb": "patch",
        "objectRef": {"resource": "engines", "namespace": "place", "name": "engine-1", "subresource": "status"},
        "responseStatus": {"code": 200},
        "stageTimestamp": "2026-01-02T03:04:05.678901Z",
    }
    write = parse(json.dumps(line))
    assert (write.verb, write.resource, write.namespace, write.name, write.code) == ("patch", "engines/status", "place", "engine-1", 200)
    assert write.at.tzinfo is not None


def echo_server(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        while data := connection.recv(1 << 16):
            connection.sendall(data.upper())


def test_forwarding_passes_bytes_and_ends_of_streams_both_ways() -> None:
    far = socket.create_server(("127.0.0.1", 0))
    near = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=echo_server, args=(far,), daemon=True).start()
    sent = b"a" * 3_000_000

    async def talk() -> bytes:
        stop = asyncio.Event()
        serving = asyncio.create_task(serve(near, address="127.0.0.1", port=far.getsockname()[1], stop=stop))
        reader, writer = await asyncio.open_connection("127.0.0.1", near.getsockname()[1])

        async def send() -> None:
            writer.write(sent)
            await writer.drain()
            writer.write_eof()

        _, received = await asyncio.gather(send(), reader.read())
        writer.close()
        stop.set()
        await serving
        return received

    assert asyncio.run(asyncio.wait_for(talk(), 20)) == sent.upper()


def test_forwarding_resets_when_nobody_listens_behind_it() -> None:
    near = socket.create_server(("127.0.0.1", 0))
    with socket.create_server(("127.0.0.1", 0)) as probe:
        closed = probe.getsockname()[1]

    async def talk() -> bytes:
        stop = asyncio.Event()
        serving = asyncio.create_task(serve(near, address="127.0.0.1", port=closed, stop=stop))
        reader, writer = await asyncio.open_connection("127.0.0.1", near.getsockname()[1])
        try:
            return await reader.read()
        finally:
            writer.close()
            stop.set()
            await serving

    with pytest.raises(ConnectionResetError):
        asyncio.run(asyncio.wait_for(talk(), 20))


def test_sysctls_go_back_when_the_last_cluster_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second cluster must not take the first one's settings for the machine's own."""
    knob = tmp_path / "knob"
    knob.write_text("machine")
    monkeypatch.setenv("VERTICAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(machine, "_SYSCTLS", (str(knob),))
    for name in ("first", "second"):
        machine.borrow_sysctls()
        state_folder(name).mkdir()
        knob.write_text(f"kubelet of {name}")
    state_folder("first").rmdir()
    machine.return_sysctls()
    assert knob.read_text() == "kubelet of second"
    state_folder("second").rmdir()
    machine.return_sysctls()
    assert knob.read_text() == "machine"
